; shared 2048
; ModuleID = "kernel"
target triple = "unknown-unknown-unknown"
target datalayout = ""

define void @"part"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5")
{
entry:
  %".7" = inttoptr i64 %".2" to float addrspace(1)*
  %".8" = inttoptr i64 %".3" to float addrspace(1)*
  %".65" = alloca float
  %".66" = alloca float
  %".67" = alloca float
  %".68" = alloca float
  %".71" = alloca float
  %".123" = alloca i64
  %".181" = alloca double
  %".182" = alloca float
  %".323" = alloca i64
  %".530" = alloca float
  %".545" = alloca i64
  %".603" = alloca double
  %".604" = alloca float
  %".662" = alloca i64
  br label %"body"
body:
  %".9" = call i64 @"thread"()
  %".10" = call i64 @"threads"()
  %".11" = icmp sgt i64 %".4", 1
  %".12" = select  i1 %".11", i64 %".4", i64 1
  %".13" = sub i64 %".12", 1
  %".14" = call i64 @"llvm.ctlz.i64"(i64 %".13", i1 0)
  %".15" = sub i64 64, %".14"
  %".16" = icmp slt i64 %".15", 5
  %".17" = select  i1 %".16", i64 %".15", i64 5
  %".18" = sub i64 4, 1
  %".19" = add i64 %".12", %".18"
  %".20" = udiv i64 %".19", 4
  %".21" = sub i64 %".20", 1
  %".22" = call i64 @"llvm.ctlz.i64"(i64 %".21", i1 0)
  %".23" = sub i64 64, %".22"
  %".24" = icmp sgt i64 %".23", %".17"
  %".25" = select  i1 %".24", i64 %".23", i64 %".17"
  %".26" = sub i64 %".10", 1
  %".27" = call i64 @"llvm.ctlz.i64"(i64 %".26", i1 0)
  %".28" = sub i64 64, %".27"
  %".29" = icmp slt i64 %".25", %".28"
  %".30" = select  i1 %".29", i64 %".25", i64 %".28"
  %".31" = shl i64 1, %".30"
  %".32" = sub i64 %".31", 1
  %".33" = and i64 %".9", %".32"
  %".34" = urem i64 %".4", 4
  %".35" = mul i64 %".4", 4
  %".36" = and i64 %".35", 15
  %".37" = or i64 %".34", %".36"
  %".38" = mul nsw i64 %".4", 0
  %".39" = add nsw i64 0, %".38"
  %".40" = getelementptr float, float addrspace(1)* %".7", i64 %".39"
  %".41" = ptrtoint float addrspace(1)* %".40" to i64
  %".42" = and i64 %".41", 15
  %".43" = or i64 %".37", %".42"
  %".44" = mul i64 %".4", 4
  %".45" = and i64 %".44", 15
  %".46" = or i64 %".43", %".45"
  %".47" = mul nsw i64 %".4", 0
  %".48" = add nsw i64 0, %".47"
  %".49" = getelementptr float, float addrspace(1)* %".8", i64 %".48"
  %".50" = ptrtoint float addrspace(1)* %".49" to i64
  %".51" = and i64 %".50", 15
  %".52" = or i64 %".46", %".51"
  %".53" = icmp eq i64 %".52", 0
  %".54" = mul i64 %".31", 4
  %".55" = icmp sle i64 %".4", %".54"
  %".56" = and i1 %".53", %".55"
  %".57" = lshr i64 %".10", %".30"
  %".58" = mul i64 %".1", %".57"
  %".59" = lshr i64 %".9", %".30"
  %".60" = add i64 %".58", %".59"
  %".61" = icmp slt i64 %".60", %".5"
  %".62" = sub i64 %".5", 1
  %".63" = select  i1 %".61", i64 %".60", i64 %".62"
  br i1 %".56", label %"body.if", label %"body.else"
body.if:
  %".69" = icmp eq i64 %".33", 0
  %".70" = and i1 %".61", %".69"
  store float 0xfff0000000000000, float* %".71"
  %".73" = trunc i64 %".33" to i32
  %".74" = call i32 asm sideeffect "", "=r,0"(i32 %".73")
  %".75" = zext i32 %".74" to i64
  %".76" = mul i64 %".31", 0
  %".77" = mul i64 %".75", 4
  %".78" = add i64 %".76", %".77"
  %".79" = icmp slt i64 %".78", %".4"
  br i1 %".79", label %"body.if.if", label %"body.if.endif"
body.else:
  %".528" = icmp eq i64 %".33", 0
  %".529" = and i1 %".61", %".528"
  store float 0xfff0000000000000, float* %".530"
  br label %"head.4"
body.endif:
  ret void
body.if.if:
  %".81" = mul nsw i64 %".4", %".63"
  %".82" = add nsw i64 %".81", %".78"
  %".83" = getelementptr float, float addrspace(1)* %".7", i64 %".82"
  %".84" = bitcast float addrspace(1)* %".83" to i128 addrspace(1)*
  %".85" = load i128, i128 addrspace(1)* %".84", align 16, !alias.scope !3, !noalias !4
  %".86" = lshr i128 %".85", 0
  %".87" = trunc i128 %".86" to i32
  %".88" = lshr i128 %".85", 32
  %".89" = trunc i128 %".88" to i32
  %".90" = lshr i128 %".85", 64
  %".91" = trunc i128 %".90" to i32
  %".92" = lshr i128 %".85", 96
  %".93" = trunc i128 %".92" to i32
  %".94" = bitcast i32 %".87" to float
  %".95" = bitcast i32 %".89" to float
  %".96" = bitcast i32 %".91" to float
  %".97" = bitcast i32 %".93" to float
  store float %".94", float* %".65"
  store float %".95", float* %".66"
  store float %".96", float* %".67"
  store float %".97", float* %".68"
  %".102" = load float, float* %".65"
  %".103" = load float, float* %".66"
  %".104" = load float, float* %".67"
  %".105" = load float, float* %".68"
  %".106" = add i64 %".78", 0
  %".107" = add i64 %".78", 1
  %".108" = add i64 %".78", 2
  %".109" = add i64 %".78", 3
  %".110" = load float, float* %".71"
  %".111" = call float @"llvm.maximum.f32"(float %".110", float %".102")
  store float %".111", float* %".71"
  %".113" = load float, float* %".71"
  %".114" = call float @"llvm.maximum.f32"(float %".113", float %".103")
  store float %".114", float* %".71"
  %".116" = load float, float* %".71"
  %".117" = call float @"llvm.maximum.f32"(float %".116", float %".104")
  store float %".117", float* %".71"
  %".119" = load float, float* %".71"
  %".120" = call float @"llvm.maximum.f32"(float %".119", float %".105")
  store float %".120", float* %".71"
  br label %"body.if.endif"
body.if.endif:
  %".124" = icmp slt i64 %".31", 32
  %".125" = select  i1 %".124", i64 %".31", i64 32
  %".126" = lshr i64 %".125", 1
  store i64 %".126", i64* %".123"
  br label %"head"
head:
  %".129" = load i64, i64* %".123"
  %".130" = icmp ugt i64 %".129", 0
  br i1 %".130", label %"loop", label %"after"
loop:
  %".132" = load i64, i64* %".123"
  %".133" = load float, float* %".71"
  %".134" = bitcast float %".133" to i32
  %".135" = trunc i64 %".132" to i32
  %".136" = call i32 @"shuffle"(i32 %".134", i32 %".135")
  %".137" = bitcast i32 %".136" to float
  %".138" = load float, float* %".71"
  %".139" = call float @"llvm.maximum.f32"(float %".138", float %".137")
  store float %".139", float* %".71"
  %".141" = lshr i64 %".132", 1
  store i64 %".141", i64* %".123"
  br label %"head"
after:
  %".144" = icmp ugt i64 %".31", 32
  br i1 %".144", label %"after.if", label %"after.endif"
after.if:
  %".146" = sub i64 %".9", %".33"
  %".147" = lshr i64 %".146", 5
  %".148" = lshr i64 %".31", 5
  %".149" = lshr i64 %".9", 5
  %".150" = and i64 %".9", 31
  %".151" = icmp eq i64 %".150", 0
  %".152" = getelementptr [0 x i8], [0 x i8] addrspace(3)* @"shared", i64 0, i64 0
  %".153" = bitcast i8 addrspace(3)* %".152" to float addrspace(3)*
  br i1 %".151", label %"after.if.if", label %"after.if.endif"
after.endif:
  %".180" = load float, float* %".71"
  store double              0x0, double* %".181"
  store float              0x0, float* %".182"
  %".185" = trunc i64 %".33" to i32
  %".186" = call i32 asm sideeffect "", "=r,0"(i32 %".185")
  %".187" = zext i32 %".186" to i64
  %".188" = mul i64 %".31", 0
  %".189" = mul i64 %".187", 4
  %".190" = add i64 %".188", %".189"
  %".191" = icmp slt i64 %".190", %".4"
  br i1 %".191", label %"after.endif.if", label %"after.endif.endif"
after.if.if:
  %".155" = load float, float* %".71"
  %".156" = getelementptr float, float addrspace(3)* %".153", i64 %".149"
  store float %".155", float addrspace(3)* %".156"
  br label %"after.if.endif"
after.if.endif:
  call void @"barrier"()
  %".160" = mul i64 0, 1
  %".161" = add i64 %".147", %".160"
  %".162" = getelementptr float, float addrspace(3)* %".153", i64 %".161"
  %".163" = load float, float addrspace(3)* %".162"
  store float %".163", float* %".71"
  br label %"head.1"
head.1:
  %".166" = phi  i64 [1, %"after.if.endif"], [%".176", %"loop.1"]
  %".167" = icmp slt i64 %".166", %".148"
  br i1 %".167", label %"loop.1", label %"after.1"
loop.1:
  %".169" = mul i64 %".166", 1
  %".170" = add i64 %".147", %".169"
  %".171" = getelementptr float, float addrspace(3)* %".153", i64 %".170"
  %".172" = load float, float addrspace(3)* %".171"
  %".173" = load float, float* %".71"
  %".174" = call float @"llvm.maximum.f32"(float %".173", float %".172")
  store float %".174", float* %".71"
  %".176" = add nsw i64 %".166", 1
  br label %"head.1"
after.1:
  call void @"barrier"()
  br label %"after.endif"
after.endif.if:
  %".193" = load float, float* %".65"
  %".194" = load float, float* %".66"
  %".195" = load float, float* %".67"
  %".196" = load float, float* %".68"
  %".197" = add i64 %".190", 0
  %".198" = add i64 %".190", 1
  %".199" = add i64 %".190", 2
  %".200" = add i64 %".190", 3
  %".201" = fsub float %".193", %".180"
  %".202" = fcmp olt float %".201", 0xc05a000000000000
  %".203" = select  i1 %".202", float 0xc05a000000000000, float %".201"
  %".204" = fcmp ogt float %".203", 0x4056400000000000
  %".205" = select  i1 %".204", float 0x4056400000000000, float %".203"
  %".206" = call float @"llvm.fma.f32"(float %".205", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".207" = fsub float %".206", 0x4168001fc0000000
  %".208" = call float @"llvm.fma.f32"(float %".207", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".209" = call float @"llvm.fma.f32"(float %".207", float 0xbfe6300000000000, float %".205")
  %".210" = call float @"llvm.fma.f32"(float %".207", float 0x3f2bd01060000000, float %".209")
  %".211" = bitcast float %".208" to i32
  %".212" = shl i32 %".211", 23
  %".213" = bitcast float %".206" to i32
  %".214" = bitcast float %".208" to i32
  %".215" = sub i32 %".213", %".214"
  %".216" = shl i32 %".215", 23
  %".217" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".210", float 0x3f8123a020000000)
  %".218" = call float @"llvm.fma.f32"(float %".217", float %".210", float 0x3fa5558f20000000)
  %".219" = call float @"llvm.fma.f32"(float %".218", float %".210", float 0x3fc5554920000000)
  %".220" = call float @"llvm.fma.f32"(float %".219", float %".210", float 0x3fdfffffc0000000)
  %".221" = call float @"llvm.fma.f32"(float %".220", float %".210", float 0x3ff0000000000000)
  %".222" = call float @"llvm.fma.f32"(float %".221", float %".210", float 0x3ff0000000000000)
  %".223" = bitcast i32 %".212" to float
  %".224" = fmul float %".222", %".223"
  %".225" = bitcast i32 %".216" to float
  %".226" = fmul float %".224", %".225"
  %".227" = load float, float* %".182"
  %".228" = fadd reassoc float %".227", %".226"
  store float %".228", float* %".182"
  %".230" = fsub float %".194", %".180"
  %".231" = fcmp olt float %".230", 0xc05a000000000000
  %".232" = select  i1 %".231", float 0xc05a000000000000, float %".230"
  %".233" = fcmp ogt float %".232", 0x4056400000000000
  %".234" = select  i1 %".233", float 0x4056400000000000, float %".232"
  %".235" = call float @"llvm.fma.f32"(float %".234", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".236" = fsub float %".235", 0x4168001fc0000000
  %".237" = call float @"llvm.fma.f32"(float %".236", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".238" = call float @"llvm.fma.f32"(float %".236", float 0xbfe6300000000000, float %".234")
  %".239" = call float @"llvm.fma.f32"(float %".236", float 0x3f2bd01060000000, float %".238")
  %".240" = bitcast float %".237" to i32
  %".241" = shl i32 %".240", 23
  %".242" = bitcast float %".235" to i32
  %".243" = bitcast float %".237" to i32
  %".244" = sub i32 %".242", %".243"
  %".245" = shl i32 %".244", 23
  %".246" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".239", float 0x3f8123a020000000)
  %".247" = call float @"llvm.fma.f32"(float %".246", float %".239", float 0x3fa5558f20000000)
  %".248" = call float @"llvm.fma.f32"(float %".247", float %".239", float 0x3fc5554920000000)
  %".249" = call float @"llvm.fma.f32"(float %".248", float %".239", float 0x3fdfffffc0000000)
  %".250" = call float @"llvm.fma.f32"(float %".249", float %".239", float 0x3ff0000000000000)
  %".251" = call float @"llvm.fma.f32"(float %".250", float %".239", float 0x3ff0000000000000)
  %".252" = bitcast i32 %".241" to float
  %".253" = fmul float %".251", %".252"
  %".254" = bitcast i32 %".245" to float
  %".255" = fmul float %".253", %".254"
  %".256" = load float, float* %".182"
  %".257" = fadd reassoc float %".256", %".255"
  store float %".257", float* %".182"
  %".259" = fsub float %".195", %".180"
  %".260" = fcmp olt float %".259", 0xc05a000000000000
  %".261" = select  i1 %".260", float 0xc05a000000000000, float %".259"
  %".262" = fcmp ogt float %".261", 0x4056400000000000
  %".263" = select  i1 %".262", float 0x4056400000000000, float %".261"
  %".264" = call float @"llvm.fma.f32"(float %".263", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".265" = fsub float %".264", 0x4168001fc0000000
  %".266" = call float @"llvm.fma.f32"(float %".265", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".267" = call float @"llvm.fma.f32"(float %".265", float 0xbfe6300000000000, float %".263")
  %".268" = call float @"llvm.fma.f32"(float %".265", float 0x3f2bd01060000000, float %".267")
  %".269" = bitcast float %".266" to i32
  %".270" = shl i32 %".269", 23
  %".271" = bitcast float %".264" to i32
  %".272" = bitcast float %".266" to i32
  %".273" = sub i32 %".271", %".272"
  %".274" = shl i32 %".273", 23
  %".275" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".268", float 0x3f8123a020000000)
  %".276" = call float @"llvm.fma.f32"(float %".275", float %".268", float 0x3fa5558f20000000)
  %".277" = call float @"llvm.fma.f32"(float %".276", float %".268", float 0x3fc5554920000000)
  %".278" = call float @"llvm.fma.f32"(float %".277", float %".268", float 0x3fdfffffc0000000)
  %".279" = call float @"llvm.fma.f32"(float %".278", float %".268", float 0x3ff0000000000000)
  %".280" = call float @"llvm.fma.f32"(float %".279", float %".268", float 0x3ff0000000000000)
  %".281" = bitcast i32 %".270" to float
  %".282" = fmul float %".280", %".281"
  %".283" = bitcast i32 %".274" to float
  %".284" = fmul float %".282", %".283"
  %".285" = load float, float* %".182"
  %".286" = fadd reassoc float %".285", %".284"
  store float %".286", float* %".182"
  %".288" = fsub float %".196", %".180"
  %".289" = fcmp olt float %".288", 0xc05a000000000000
  %".290" = select  i1 %".289", float 0xc05a000000000000, float %".288"
  %".291" = fcmp ogt float %".290", 0x4056400000000000
  %".292" = select  i1 %".291", float 0x4056400000000000, float %".290"
  %".293" = call float @"llvm.fma.f32"(float %".292", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".294" = fsub float %".293", 0x4168001fc0000000
  %".295" = call float @"llvm.fma.f32"(float %".294", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".296" = call float @"llvm.fma.f32"(float %".294", float 0xbfe6300000000000, float %".292")
  %".297" = call float @"llvm.fma.f32"(float %".294", float 0x3f2bd01060000000, float %".296")
  %".298" = bitcast float %".295" to i32
  %".299" = shl i32 %".298", 23
  %".300" = bitcast float %".293" to i32
  %".301" = bitcast float %".295" to i32
  %".302" = sub i32 %".300", %".301"
  %".303" = shl i32 %".302", 23
  %".304" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".297", float 0x3f8123a020000000)
  %".305" = call float @"llvm.fma.f32"(float %".304", float %".297", float 0x3fa5558f20000000)
  %".306" = call float @"llvm.fma.f32"(float %".305", float %".297", float 0x3fc5554920000000)
  %".307" = call float @"llvm.fma.f32"(float %".306", float %".297", float 0x3fdfffffc0000000)
  %".308" = call float @"llvm.fma.f32"(float %".307", float %".297", float 0x3ff0000000000000)
  %".309" = call float @"llvm.fma.f32"(float %".308", float %".297", float 0x3ff0000000000000)
  %".310" = bitcast i32 %".299" to float
  %".311" = fmul float %".309", %".310"
  %".312" = bitcast i32 %".303" to float
  %".313" = fmul float %".311", %".312"
  %".314" = load float, float* %".182"
  %".315" = fadd reassoc float %".314", %".313"
  store float %".315", float* %".182"
  br label %"after.endif.endif"
after.endif.endif:
  %".318" = load float, float* %".182"
  %".319" = fpext float %".318" to double
  %".320" = load double, double* %".181"
  %".321" = fadd double %".320", %".319"
  store double %".321", double* %".181"
  %".324" = icmp slt i64 %".31", 32
  %".325" = select  i1 %".324", i64 %".31", i64 32
  %".326" = lshr i64 %".325", 1
  store i64 %".326", i64* %".323"
  br label %"head.2"
head.2:
  %".329" = load i64, i64* %".323"
  %".330" = icmp ugt i64 %".329", 0
  br i1 %".330", label %"loop.2", label %"after.2"
loop.2:
  %".332" = load i64, i64* %".323"
  %".333" = load double, double* %".181"
  %".334" = bitcast double %".333" to i64
  %".335" = trunc i64 %".334" to i32
  %".336" = trunc i64 %".332" to i32
  %".337" = call i32 @"shuffle"(i32 %".335", i32 %".336")
  %".338" = lshr i64 %".334", 32
  %".339" = trunc i64 %".338" to i32
  %".340" = trunc i64 %".332" to i32
  %".341" = call i32 @"shuffle"(i32 %".339", i32 %".340")
  %".342" = zext i32 %".337" to i64
  %".343" = zext i32 %".341" to i64
  %".344" = shl i64 %".343", 32
  %".345" = or i64 %".342", %".344"
  %".346" = bitcast i64 %".345" to double
  %".347" = load double, double* %".181"
  %".348" = fadd double %".347", %".346"
  store double %".348", double* %".181"
  %".350" = lshr i64 %".332", 1
  store i64 %".350", i64* %".323"
  br label %"head.2"
after.2:
  %".353" = icmp ugt i64 %".31", 32
  br i1 %".353", label %"after.2.if", label %"after.2.endif"
after.2.if:
  %".355" = sub i64 %".9", %".33"
  %".356" = lshr i64 %".355", 5
  %".357" = lshr i64 %".31", 5
  %".358" = lshr i64 %".9", 5
  %".359" = and i64 %".9", 31
  %".360" = icmp eq i64 %".359", 0
  %".361" = getelementptr [0 x i8], [0 x i8] addrspace(3)* @"shared", i64 0, i64 0
  %".362" = bitcast i8 addrspace(3)* %".361" to double addrspace(3)*
  br i1 %".360", label %"after.2.if.if", label %"after.2.if.endif"
after.2.endif:
  %".389" = load double, double* %".181"
  %".390" = fptrunc double %".389" to float
  %".391" = trunc i64 %".33" to i32
  %".392" = call i32 asm sideeffect "", "=r,0"(i32 %".391")
  %".393" = zext i32 %".392" to i64
  %".394" = mul i64 %".31", 0
  %".395" = mul i64 %".393", 4
  %".396" = add i64 %".394", %".395"
  %".397" = icmp slt i64 %".396", %".4"
  br i1 %".397", label %"after.2.endif.if", label %"after.2.endif.endif"
after.2.if.if:
  %".364" = load double, double* %".181"
  %".365" = getelementptr double, double addrspace(3)* %".362", i64 %".358"
  store double %".364", double addrspace(3)* %".365"
  br label %"after.2.if.endif"
after.2.if.endif:
  call void @"barrier"()
  %".369" = mul i64 0, 1
  %".370" = add i64 %".356", %".369"
  %".371" = getelementptr double, double addrspace(3)* %".362", i64 %".370"
  %".372" = load double, double addrspace(3)* %".371"
  store double %".372", double* %".181"
  br label %"head.3"
head.3:
  %".375" = phi  i64 [1, %"after.2.if.endif"], [%".385", %"loop.3"]
  %".376" = icmp slt i64 %".375", %".357"
  br i1 %".376", label %"loop.3", label %"after.3"
loop.3:
  %".378" = mul i64 %".375", 1
  %".379" = add i64 %".356", %".378"
  %".380" = getelementptr double, double addrspace(3)* %".362", i64 %".379"
  %".381" = load double, double addrspace(3)* %".380"
  %".382" = load double, double* %".181"
  %".383" = fadd double %".382", %".381"
  store double %".383", double* %".181"
  %".385" = add nsw i64 %".375", 1
  br label %"head.3"
after.3:
  call void @"barrier"()
  br label %"after.2.endif"
after.2.endif.if:
  %".399" = load float, float* %".65"
  %".400" = load float, float* %".66"
  %".401" = load float, float* %".67"
  %".402" = load float, float* %".68"
  %".403" = add i64 %".396", 0
  %".404" = add i64 %".396", 1
  %".405" = add i64 %".396", 2
  %".406" = add i64 %".396", 3
  %".407" = fsub float %".399", %".180"
  %".408" = fsub float %".400", %".180"
  %".409" = fsub float %".401", %".180"
  %".410" = fsub float %".402", %".180"
  %".411" = fcmp olt float %".407", 0xc05a000000000000
  %".412" = select  i1 %".411", float 0xc05a000000000000, float %".407"
  %".413" = fcmp ogt float %".412", 0x4056400000000000
  %".414" = select  i1 %".413", float 0x4056400000000000, float %".412"
  %".415" = call float @"llvm.fma.f32"(float %".414", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".416" = fsub float %".415", 0x4168001fc0000000
  %".417" = call float @"llvm.fma.f32"(float %".416", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".418" = call float @"llvm.fma.f32"(float %".416", float 0xbfe6300000000000, float %".414")
  %".419" = call float @"llvm.fma.f32"(float %".416", float 0x3f2bd01060000000, float %".418")
  %".420" = bitcast float %".417" to i32
  %".421" = shl i32 %".420", 23
  %".422" = bitcast float %".415" to i32
  %".423" = bitcast float %".417" to i32
  %".424" = sub i32 %".422", %".423"
  %".425" = shl i32 %".424", 23
  %".426" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".419", float 0x3f8123a020000000)
  %".427" = call float @"llvm.fma.f32"(float %".426", float %".419", float 0x3fa5558f20000000)
  %".428" = call float @"llvm.fma.f32"(float %".427", float %".419", float 0x3fc5554920000000)
  %".429" = call float @"llvm.fma.f32"(float %".428", float %".419", float 0x3fdfffffc0000000)
  %".430" = call float @"llvm.fma.f32"(float %".429", float %".419", float 0x3ff0000000000000)
  %".431" = call float @"llvm.fma.f32"(float %".430", float %".419", float 0x3ff0000000000000)
  %".432" = bitcast i32 %".421" to float
  %".433" = fmul float %".431", %".432"
  %".434" = bitcast i32 %".425" to float
  %".435" = fmul float %".433", %".434"
  %".436" = fcmp olt float %".408", 0xc05a000000000000
  %".437" = select  i1 %".436", float 0xc05a000000000000, float %".408"
  %".438" = fcmp ogt float %".437", 0x4056400000000000
  %".439" = select  i1 %".438", float 0x4056400000000000, float %".437"
  %".440" = call float @"llvm.fma.f32"(float %".439", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".441" = fsub float %".440", 0x4168001fc0000000
  %".442" = call float @"llvm.fma.f32"(float %".441", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".443" = call float @"llvm.fma.f32"(float %".441", float 0xbfe6300000000000, float %".439")
  %".444" = call float @"llvm.fma.f32"(float %".441", float 0x3f2bd01060000000, float %".443")
  %".445" = bitcast float %".442" to i32
  %".446" = shl i32 %".445", 23
  %".447" = bitcast float %".440" to i32
  %".448" = bitcast float %".442" to i32
  %".449" = sub i32 %".447", %".448"
  %".450" = shl i32 %".449", 23
  %".451" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".444", float 0x3f8123a020000000)
  %".452" = call float @"llvm.fma.f32"(float %".451", float %".444", float 0x3fa5558f20000000)
  %".453" = call float @"llvm.fma.f32"(float %".452", float %".444", float 0x3fc5554920000000)
  %".454" = call float @"llvm.fma.f32"(float %".453", float %".444", float 0x3fdfffffc0000000)
  %".455" = call float @"llvm.fma.f32"(float %".454", float %".444", float 0x3ff0000000000000)
  %".456" = call float @"llvm.fma.f32"(float %".455", float %".444", float 0x3ff0000000000000)
  %".457" = bitcast i32 %".446" to float
  %".458" = fmul float %".456", %".457"
  %".459" = bitcast i32 %".450" to float
  %".460" = fmul float %".458", %".459"
  %".461" = fcmp olt float %".409", 0xc05a000000000000
  %".462" = select  i1 %".461", float 0xc05a000000000000, float %".409"
  %".463" = fcmp ogt float %".462", 0x4056400000000000
  %".464" = select  i1 %".463", float 0x4056400000000000, float %".462"
  %".465" = call float @"llvm.fma.f32"(float %".464", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".466" = fsub float %".465", 0x4168001fc0000000
  %".467" = call float @"llvm.fma.f32"(float %".466", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".468" = call float @"llvm.fma.f32"(float %".466", float 0xbfe6300000000000, float %".464")
  %".469" = call float @"llvm.fma.f32"(float %".466", float 0x3f2bd01060000000, float %".468")
  %".470" = bitcast float %".467" to i32
  %".471" = shl i32 %".470", 23
  %".472" = bitcast float %".465" to i32
  %".473" = bitcast float %".467" to i32
  %".474" = sub i32 %".472", %".473"
  %".475" = shl i32 %".474", 23
  %".476" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".469", float 0x3f8123a020000000)
  %".477" = call float @"llvm.fma.f32"(float %".476", float %".469", float 0x3fa5558f20000000)
  %".478" = call float @"llvm.fma.f32"(float %".477", float %".469", float 0x3fc5554920000000)
  %".479" = call float @"llvm.fma.f32"(float %".478", float %".469", float 0x3fdfffffc0000000)
  %".480" = call float @"llvm.fma.f32"(float %".479", float %".469", float 0x3ff0000000000000)
  %".481" = call float @"llvm.fma.f32"(float %".480", float %".469", float 0x3ff0000000000000)
  %".482" = bitcast i32 %".471" to float
  %".483" = fmul float %".481", %".482"
  %".484" = bitcast i32 %".475" to float
  %".485" = fmul float %".483", %".484"
  %".486" = fcmp olt float %".410", 0xc05a000000000000
  %".487" = select  i1 %".486", float 0xc05a000000000000, float %".410"
  %".488" = fcmp ogt float %".487", 0x4056400000000000
  %".489" = select  i1 %".488", float 0x4056400000000000, float %".487"
  %".490" = call float @"llvm.fma.f32"(float %".489", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".491" = fsub float %".490", 0x4168001fc0000000
  %".492" = call float @"llvm.fma.f32"(float %".491", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".493" = call float @"llvm.fma.f32"(float %".491", float 0xbfe6300000000000, float %".489")
  %".494" = call float @"llvm.fma.f32"(float %".491", float 0x3f2bd01060000000, float %".493")
  %".495" = bitcast float %".492" to i32
  %".496" = shl i32 %".495", 23
  %".497" = bitcast float %".490" to i32
  %".498" = bitcast float %".492" to i32
  %".499" = sub i32 %".497", %".498"
  %".500" = shl i32 %".499", 23
  %".501" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".494", float 0x3f8123a020000000)
  %".502" = call float @"llvm.fma.f32"(float %".501", float %".494", float 0x3fa5558f20000000)
  %".503" = call float @"llvm.fma.f32"(float %".502", float %".494", float 0x3fc5554920000000)
  %".504" = call float @"llvm.fma.f32"(float %".503", float %".494", float 0x3fdfffffc0000000)
  %".505" = call float @"llvm.fma.f32"(float %".504", float %".494", float 0x3ff0000000000000)
  %".506" = call float @"llvm.fma.f32"(float %".505", float %".494", float 0x3ff0000000000000)
  %".507" = bitcast i32 %".496" to float
  %".508" = fmul float %".506", %".507"
  %".509" = bitcast i32 %".500" to float
  %".510" = fmul float %".508", %".509"
  %".511" = fdiv float %".435", %".390"
  %".512" = fdiv float %".460", %".390"
  %".513" = fdiv float %".485", %".390"
  %".514" = fdiv float %".510", %".390"
  br i1 %".61", label %"after.2.endif.if.if", label %"after.2.endif.if.endif"
after.2.endif.endif:
  br label %"body.endif"
after.2.endif.if.if:
  %".516" = insertelement <4 x float> <float undef, float undef, float undef, float undef>, float %".511", i32 0
  %".517" = insertelement <4 x float> %".516", float %".512", i32 1
  %".518" = insertelement <4 x float> %".517", float %".513", i32 2
  %".519" = insertelement <4 x float> %".518", float %".514", i32 3
  %".520" = mul nsw i64 %".4", %".63"
  %".521" = add nsw i64 %".403", %".520"
  %".522" = getelementptr float, float addrspace(1)* %".8", i64 %".521"
  %".523" = bitcast float addrspace(1)* %".522" to <4 x float> addrspace(1)*
  store <4 x float> %".519", <4 x float> addrspace(1)* %".523", align 16, !alias.scope !4, !noalias !3
  br label %"after.2.endif.if.endif"
after.2.endif.if.endif:
  br label %"after.2.endif.endif"
head.4:
  %".533" = phi  i64 [%".33", %"body.else"], [%".543", %"loop.4"]
  %".534" = icmp slt i64 %".533", %".4"
  br i1 %".534", label %"loop.4", label %"after.4"
loop.4:
  %".536" = mul nsw i64 %".4", %".63"
  %".537" = add nsw i64 %".536", %".533"
  %".538" = getelementptr float, float addrspace(1)* %".7", i64 %".537"
  %".539" = load float, float addrspace(1)* %".538", !alias.scope !3, !noalias !4
  %".540" = load float, float* %".530"
  %".541" = call float @"llvm.maximum.f32"(float %".540", float %".539")
  store float %".541", float* %".530"
  %".543" = add nsw i64 %".533", %".31"
  br label %"head.4"
after.4:
  %".546" = icmp slt i64 %".31", 32
  %".547" = select  i1 %".546", i64 %".31", i64 32
  %".548" = lshr i64 %".547", 1
  store i64 %".548", i64* %".545"
  br label %"head.5"
head.5:
  %".551" = load i64, i64* %".545"
  %".552" = icmp ugt i64 %".551", 0
  br i1 %".552", label %"loop.5", label %"after.5"
loop.5:
  %".554" = load i64, i64* %".545"
  %".555" = load float, float* %".530"
  %".556" = bitcast float %".555" to i32
  %".557" = trunc i64 %".554" to i32
  %".558" = call i32 @"shuffle"(i32 %".556", i32 %".557")
  %".559" = bitcast i32 %".558" to float
  %".560" = load float, float* %".530"
  %".561" = call float @"llvm.maximum.f32"(float %".560", float %".559")
  store float %".561", float* %".530"
  %".563" = lshr i64 %".554", 1
  store i64 %".563", i64* %".545"
  br label %"head.5"
after.5:
  %".566" = icmp ugt i64 %".31", 32
  br i1 %".566", label %"after.5.if", label %"after.5.endif"
after.5.if:
  %".568" = sub i64 %".9", %".33"
  %".569" = lshr i64 %".568", 5
  %".570" = lshr i64 %".31", 5
  %".571" = lshr i64 %".9", 5
  %".572" = and i64 %".9", 31
  %".573" = icmp eq i64 %".572", 0
  %".574" = getelementptr [0 x i8], [0 x i8] addrspace(3)* @"shared", i64 0, i64 0
  %".575" = bitcast i8 addrspace(3)* %".574" to float addrspace(3)*
  br i1 %".573", label %"after.5.if.if", label %"after.5.if.endif"
after.5.endif:
  %".602" = load float, float* %".530"
  store double              0x0, double* %".603"
  %".606" = mul i64 %".31", 1024
  br label %"head.7"
after.5.if.if:
  %".577" = load float, float* %".530"
  %".578" = getelementptr float, float addrspace(3)* %".575", i64 %".571"
  store float %".577", float addrspace(3)* %".578"
  br label %"after.5.if.endif"
after.5.if.endif:
  call void @"barrier"()
  %".582" = mul i64 0, 1
  %".583" = add i64 %".569", %".582"
  %".584" = getelementptr float, float addrspace(3)* %".575", i64 %".583"
  %".585" = load float, float addrspace(3)* %".584"
  store float %".585", float* %".530"
  br label %"head.6"
head.6:
  %".588" = phi  i64 [1, %"after.5.if.endif"], [%".598", %"loop.6"]
  %".589" = icmp slt i64 %".588", %".570"
  br i1 %".589", label %"loop.6", label %"after.6"
loop.6:
  %".591" = mul i64 %".588", 1
  %".592" = add i64 %".569", %".591"
  %".593" = getelementptr float, float addrspace(3)* %".575", i64 %".592"
  %".594" = load float, float addrspace(3)* %".593"
  %".595" = load float, float* %".530"
  %".596" = call float @"llvm.maximum.f32"(float %".595", float %".594")
  store float %".596", float* %".530"
  %".598" = add nsw i64 %".588", 1
  br label %"head.6"
after.6:
  call void @"barrier"()
  br label %"after.5.endif"
head.7:
  %".608" = phi  i64 [0, %"after.5.endif"], [%".660", %"after.8"]
  %".609" = icmp slt i64 %".608", %".4"
  br i1 %".609", label %"loop.7", label %"after.7"
loop.7:
  store float              0x0, float* %".604"
  %".612" = add i64 %".608", %".33"
  %".613" = add i64 %".608", %".606"
  %".614" = icmp slt i64 %".613", %".4"
  %".615" = select  i1 %".614", i64 %".613", i64 %".4"
  br label %"head.8"
after.7:
  %".663" = icmp slt i64 %".31", 32
  %".664" = select  i1 %".663", i64 %".31", i64 32
  %".665" = lshr i64 %".664", 1
  store i64 %".665", i64* %".662"
  br label %"head.9"
head.8:
  %".617" = phi  i64 [%".612", %"loop.7"], [%".653", %"loop.8"]
  %".618" = icmp slt i64 %".617", %".615"
  br i1 %".618", label %"loop.8", label %"after.8"
loop.8:
  %".620" = mul nsw i64 %".4", %".63"
  %".621" = add nsw i64 %".620", %".617"
  %".622" = getelementptr float, float addrspace(1)* %".7", i64 %".621"
  %".623" = load float, float addrspace(1)* %".622", !alias.scope !3, !noalias !4
  %".624" = fsub float %".623", %".602"
  %".625" = fcmp olt float %".624", 0xc05a000000000000
  %".626" = select  i1 %".625", float 0xc05a000000000000, float %".624"
  %".627" = fcmp ogt float %".626", 0x4056400000000000
  %".628" = select  i1 %".627", float 0x4056400000000000, float %".626"
  %".629" = call float @"llvm.fma.f32"(float %".628", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".630" = fsub float %".629", 0x4168001fc0000000
  %".631" = call float @"llvm.fma.f32"(float %".630", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".632" = call float @"llvm.fma.f32"(float %".630", float 0xbfe6300000000000, float %".628")
  %".633" = call float @"llvm.fma.f32"(float %".630", float 0x3f2bd01060000000, float %".632")
  %".634" = bitcast float %".631" to i32
  %".635" = shl i32 %".634", 23
  %".636" = bitcast float %".629" to i32
  %".637" = bitcast float %".631" to i32
  %".638" = sub i32 %".636", %".637"
  %".639" = shl i32 %".638", 23
  %".640" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".633", float 0x3f8123a020000000)
  %".641" = call float @"llvm.fma.f32"(float %".640", float %".633", float 0x3fa5558f20000000)
  %".642" = call float @"llvm.fma.f32"(float %".641", float %".633", float 0x3fc5554920000000)
  %".643" = call float @"llvm.fma.f32"(float %".642", float %".633", float 0x3fdfffffc0000000)
  %".644" = call float @"llvm.fma.f32"(float %".643", float %".633", float 0x3ff0000000000000)
  %".645" = call float @"llvm.fma.f32"(float %".644", float %".633", float 0x3ff0000000000000)
  %".646" = bitcast i32 %".635" to float
  %".647" = fmul float %".645", %".646"
  %".648" = bitcast i32 %".639" to float
  %".649" = fmul float %".647", %".648"
  %".650" = load float, float* %".604"
  %".651" = fadd reassoc float %".650", %".649"
  store float %".651", float* %".604"
  %".653" = add nsw i64 %".617", %".31"
  br label %"head.8"
after.8:
  %".655" = load float, float* %".604"
  %".656" = fpext float %".655" to double
  %".657" = load double, double* %".603"
  %".658" = fadd double %".657", %".656"
  store double %".658", double* %".603"
  %".660" = add nsw i64 %".608", %".606"
  br label %"head.7"
head.9:
  %".668" = load i64, i64* %".662"
  %".669" = icmp ugt i64 %".668", 0
  br i1 %".669", label %"loop.9", label %"after.9"
loop.9:
  %".671" = load i64, i64* %".662"
  %".672" = load double, double* %".603"
  %".673" = bitcast double %".672" to i64
  %".674" = trunc i64 %".673" to i32
  %".675" = trunc i64 %".671" to i32
  %".676" = call i32 @"shuffle"(i32 %".674", i32 %".675")
  %".677" = lshr i64 %".673", 32
  %".678" = trunc i64 %".677" to i32
  %".679" = trunc i64 %".671" to i32
  %".680" = call i32 @"shuffle"(i32 %".678", i32 %".679")
  %".681" = zext i32 %".676" to i64
  %".682" = zext i32 %".680" to i64
  %".683" = shl i64 %".682", 32
  %".684" = or i64 %".681", %".683"
  %".685" = bitcast i64 %".684" to double
  %".686" = load double, double* %".603"
  %".687" = fadd double %".686", %".685"
  store double %".687", double* %".603"
  %".689" = lshr i64 %".671", 1
  store i64 %".689", i64* %".662"
  br label %"head.9"
after.9:
  %".692" = icmp ugt i64 %".31", 32
  br i1 %".692", label %"after.9.if", label %"after.9.endif"
after.9.if:
  %".694" = sub i64 %".9", %".33"
  %".695" = lshr i64 %".694", 5
  %".696" = lshr i64 %".31", 5
  %".697" = lshr i64 %".9", 5
  %".698" = and i64 %".9", 31
  %".699" = icmp eq i64 %".698", 0
  %".700" = getelementptr [0 x i8], [0 x i8] addrspace(3)* @"shared", i64 0, i64 0
  %".701" = bitcast i8 addrspace(3)* %".700" to double addrspace(3)*
  br i1 %".699", label %"after.9.if.if", label %"after.9.if.endif"
after.9.endif:
  %".728" = load double, double* %".603"
  %".729" = fptrunc double %".728" to float
  %".730" = add i64 0, %".33"
  br label %"head.11"
after.9.if.if:
  %".703" = load double, double* %".603"
  %".704" = getelementptr double, double addrspace(3)* %".701", i64 %".697"
  store double %".703", double addrspace(3)* %".704"
  br label %"after.9.if.endif"
after.9.if.endif:
  call void @"barrier"()
  %".708" = mul i64 0, 1
  %".709" = add i64 %".695", %".708"
  %".710" = getelementptr double, double addrspace(3)* %".701", i64 %".709"
  %".711" = load double, double addrspace(3)* %".710"
  store double %".711", double* %".603"
  br label %"head.10"
head.10:
  %".714" = phi  i64 [1, %"after.9.if.endif"], [%".724", %"loop.10"]
  %".715" = icmp slt i64 %".714", %".696"
  br i1 %".715", label %"loop.10", label %"after.10"
loop.10:
  %".717" = mul i64 %".714", 1
  %".718" = add i64 %".695", %".717"
  %".719" = getelementptr double, double addrspace(3)* %".701", i64 %".718"
  %".720" = load double, double addrspace(3)* %".719"
  %".721" = load double, double* %".603"
  %".722" = fadd double %".721", %".720"
  store double %".722", double* %".603"
  %".724" = add nsw i64 %".714", 1
  br label %"head.10"
after.10:
  call void @"barrier"()
  br label %"after.9.endif"
head.11:
  %".732" = phi  i64 [%".730", %"after.9.endif"], [%".772", %"loop.11.endif"]
  %".733" = icmp slt i64 %".732", %".4"
  br i1 %".733", label %"loop.11", label %"after.11"
loop.11:
  %".735" = mul nsw i64 %".4", %".63"
  %".736" = add nsw i64 %".732", %".735"
  %".737" = getelementptr float, float addrspace(1)* %".7", i64 %".736"
  %".738" = load float, float addrspace(1)* %".737", !alias.scope !3, !noalias !4
  %".739" = fsub float %".738", %".602"
  %".740" = fcmp olt float %".739", 0xc05a000000000000
  %".741" = select  i1 %".740", float 0xc05a000000000000, float %".739"
  %".742" = fcmp ogt float %".741", 0x4056400000000000
  %".743" = select  i1 %".742", float 0x4056400000000000, float %".741"
  %".744" = call float @"llvm.fma.f32"(float %".743", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".745" = fsub float %".744", 0x4168001fc0000000
  %".746" = call float @"llvm.fma.f32"(float %".745", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".747" = call float @"llvm.fma.f32"(float %".745", float 0xbfe6300000000000, float %".743")
  %".748" = call float @"llvm.fma.f32"(float %".745", float 0x3f2bd01060000000, float %".747")
  %".749" = bitcast float %".746" to i32
  %".750" = shl i32 %".749", 23
  %".751" = bitcast float %".744" to i32
  %".752" = bitcast float %".746" to i32
  %".753" = sub i32 %".751", %".752"
  %".754" = shl i32 %".753", 23
  %".755" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".748", float 0x3f8123a020000000)
  %".756" = call float @"llvm.fma.f32"(float %".755", float %".748", float 0x3fa5558f20000000)
  %".757" = call float @"llvm.fma.f32"(float %".756", float %".748", float 0x3fc5554920000000)
  %".758" = call float @"llvm.fma.f32"(float %".757", float %".748", float 0x3fdfffffc0000000)
  %".759" = call float @"llvm.fma.f32"(float %".758", float %".748", float 0x3ff0000000000000)
  %".760" = call float @"llvm.fma.f32"(float %".759", float %".748", float 0x3ff0000000000000)
  %".761" = bitcast i32 %".750" to float
  %".762" = fmul float %".760", %".761"
  %".763" = bitcast i32 %".754" to float
  %".764" = fmul float %".762", %".763"
  %".765" = fdiv float %".764", %".729"
  br i1 %".61", label %"loop.11.if", label %"loop.11.endif"
after.11:
  br label %"body.endif"
loop.11.if:
  %".767" = mul nsw i64 %".4", %".63"
  %".768" = add nsw i64 %".732", %".767"
  %".769" = getelementptr float, float addrspace(1)* %".8", i64 %".768"
  store float %".765", float addrspace(1)* %".769", !alias.scope !4, !noalias !3
  br label %"loop.11.endif"
loop.11.endif:
  %".772" = add nsw i64 %".732", %".31"
  br label %"head.11"
}

@"shared" = external addrspace(3) global [0 x i8]
declare i64 @"thread"()

declare i64 @"threads"()

declare void @"barrier"()

declare void @"warp_barrier"()

declare i32 @"shuffle"(i32 %".1", i32 %".2")

define i64 @"blocks"(i64 %".1", i64 %".2", i64 %".3", i64 %".4")
{
entry:
  %".6" = call i64 @"threads"()
  %".7" = icmp sgt i64 %".3", 1
  %".8" = select  i1 %".7", i64 %".3", i64 1
  %".9" = sub i64 %".8", 1
  %".10" = call i64 @"llvm.ctlz.i64"(i64 %".9", i1 0)
  %".11" = sub i64 64, %".10"
  %".12" = icmp slt i64 %".11", 5
  %".13" = select  i1 %".12", i64 %".11", i64 5
  %".14" = sub i64 4, 1
  %".15" = add i64 %".8", %".14"
  %".16" = udiv i64 %".15", 4
  %".17" = sub i64 %".16", 1
  %".18" = call i64 @"llvm.ctlz.i64"(i64 %".17", i1 0)
  %".19" = sub i64 64, %".18"
  %".20" = icmp sgt i64 %".19", %".13"
  %".21" = select  i1 %".20", i64 %".19", i64 %".13"
  %".22" = sub i64 %".6", 1
  %".23" = call i64 @"llvm.ctlz.i64"(i64 %".22", i1 0)
  %".24" = sub i64 64, %".23"
  %".25" = icmp slt i64 %".21", %".24"
  %".26" = select  i1 %".25", i64 %".21", i64 %".24"
  %".27" = lshr i64 %".6", %".26"
  %".28" = sub i64 %".27", 1
  %".29" = add i64 %".4", %".28"
  %".30" = udiv i64 %".29", %".27"
  ret i64 %".30"
}

declare i64 @"llvm.ctlz.i64"(i64 %".1", i1 %".2")

declare float @"llvm.maximum.f32"(float %".1", float %".2")

declare float @"llvm.fma.f32"(float %".1", float %".2", float %".3")

!0 = !{ !"mindlite" }
!1 = !{ !"argument 0", !0 }
!2 = !{ !"argument 1", !0 }
!3 = !{ !1 }
!4 = !{ !2 }