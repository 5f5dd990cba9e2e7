; shared 2048, 2 blocks
; ModuleID = "kernel"
target triple = "unknown-unknown-unknown"
target datalayout = ""

define void @"part"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5")
{
entry:
  %".7" = inttoptr i64 %".2" to float addrspace(1)*
  %".8" = inttoptr i64 %".3" to float addrspace(1)*
  br label %"body"
body:
  %".9" = call i64 @"thread"()
  %".10" = call i64 @"threads"()
  %".11" = icmp sgt i64 %".4", 1
  %".12" = select  i1 %".11", i64 %".4", i64 1
  %".13" = sub i64 %".12", 1
  %".14" = call i64 @"llvm.ctlz.i64"(i64 %".13", i1 0)
  %".15" = sub i64 64, %".14"
  %".16" = icmp sge i64 %".5", 2048
  %".17" = select  i1 %".16", i64 4, i64 4
  %".18" = icmp slt i64 %".15", 5
  %".19" = select  i1 %".18", i64 %".15", i64 5
  %".20" = sub i64 %".17", 1
  %".21" = add i64 %".12", %".20"
  %".22" = udiv i64 %".21", %".17"
  %".23" = sub i64 %".22", 1
  %".24" = call i64 @"llvm.ctlz.i64"(i64 %".23", i1 0)
  %".25" = sub i64 64, %".24"
  %".26" = icmp sgt i64 %".25", %".19"
  %".27" = select  i1 %".26", i64 %".25", i64 %".19"
  %".28" = sub i64 %".10", 1
  %".29" = call i64 @"llvm.ctlz.i64"(i64 %".28", i1 0)
  %".30" = sub i64 64, %".29"
  %".31" = icmp slt i64 %".27", %".30"
  %".32" = select  i1 %".31", i64 %".27", i64 %".30"
  %".33" = shl i64 1, %".32"
  %".34" = sub i64 %".33", 1
  %".35" = and i64 %".9", %".34"
  %".36" = urem i64 %".4", 4
  %".37" = mul i64 %".4", 4
  %".38" = and i64 %".37", 15
  %".39" = or i64 %".36", %".38"
  %".40" = mul nsw i64 %".4", 0
  %".41" = add nsw i64 0, %".40"
  %".42" = getelementptr float, float addrspace(1)* %".7", i64 %".41"
  %".43" = ptrtoint float addrspace(1)* %".42" to i64
  %".44" = and i64 %".43", 15
  %".45" = or i64 %".39", %".44"
  %".46" = mul i64 %".4", 4
  %".47" = and i64 %".46", 15
  %".48" = or i64 %".45", %".47"
  %".49" = mul nsw i64 %".4", 0
  %".50" = add nsw i64 0, %".49"
  %".51" = getelementptr float, float addrspace(1)* %".8", i64 %".50"
  %".52" = ptrtoint float addrspace(1)* %".51" to i64
  %".53" = and i64 %".52", 15
  %".54" = or i64 %".48", %".53"
  %".55" = icmp eq i64 %".54", 0
  %".56" = mul i64 %".33", 4
  %".57" = icmp sle i64 %".4", %".56"
  %".58" = and i1 %".55", %".57"
  %".59" = mul i64 %".33", 4
  %".60" = icmp sle i64 %".4", %".59"
  br i1 %".58", label %"body.if", label %"body.else"
body.if:
  call void @"vectors"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5")
  br label %"body.endif"
body.else:
  br i1 %".60", label %"body.else.if", label %"body.else.else"
body.endif:
  ret void
body.else.if:
  call void @"numbers"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5")
  br label %"body.else.endif"
body.else.else:
  call void @"read"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5")
  br label %"body.else.endif"
body.else.endif:
  br label %"body.endif"
}

declare i64 @"thread"()

declare i64 @"threads"()

declare void @"barrier"()

declare void @"warp_barrier"()

declare i32 @"shuffle"(i32 %".1", i32 %".2")

declare i16 @"to_bf16"(float %".1")

@"shared" = external addrspace(3) global [0 x i8]
define internal void @"vectors"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5") convergent noinline
{
entry:
  %".7" = inttoptr i64 %".2" to float addrspace(1)*
  %".8" = inttoptr i64 %".3" to float addrspace(1)*
  %".43" = alloca float
  %".44" = alloca float
  %".45" = alloca float
  %".46" = alloca float
  %".49" = alloca float
  %".100" = alloca i64
  %".158" = alloca double
  %".159" = alloca float
  %".299" = alloca i64
  br label %"body"
body:
  %".9" = call i64 @"thread"()
  %".10" = call i64 @"threads"()
  %".11" = icmp sgt i64 %".4", 1
  %".12" = select  i1 %".11", i64 %".4", i64 1
  %".13" = sub i64 %".12", 1
  %".14" = call i64 @"llvm.ctlz.i64"(i64 %".13", i1 0)
  %".15" = sub i64 64, %".14"
  %".16" = icmp sge i64 %".5", 2048
  %".17" = select  i1 %".16", i64 4, i64 4
  %".18" = icmp slt i64 %".15", 5
  %".19" = select  i1 %".18", i64 %".15", i64 5
  %".20" = sub i64 %".17", 1
  %".21" = add i64 %".12", %".20"
  %".22" = udiv i64 %".21", %".17"
  %".23" = sub i64 %".22", 1
  %".24" = call i64 @"llvm.ctlz.i64"(i64 %".23", i1 0)
  %".25" = sub i64 64, %".24"
  %".26" = icmp sgt i64 %".25", %".19"
  %".27" = select  i1 %".26", i64 %".25", i64 %".19"
  %".28" = sub i64 %".10", 1
  %".29" = call i64 @"llvm.ctlz.i64"(i64 %".28", i1 0)
  %".30" = sub i64 64, %".29"
  %".31" = icmp slt i64 %".27", %".30"
  %".32" = select  i1 %".31", i64 %".27", i64 %".30"
  %".33" = shl i64 1, %".32"
  %".34" = sub i64 %".33", 1
  %".35" = and i64 %".9", %".34"
  %".36" = lshr i64 %".10", %".32"
  %".37" = mul i64 %".1", %".36"
  %".38" = lshr i64 %".9", %".32"
  %".39" = add i64 %".37", %".38"
  %".40" = icmp slt i64 %".39", %".5"
  %".41" = sub i64 %".5", 1
  %".42" = select  i1 %".40", i64 %".39", i64 %".41"
  %".47" = icmp eq i64 %".35", 0
  %".48" = and i1 %".40", %".47"
  store float 0xfff0000000000000, float* %".49"
  %".51" = trunc i64 %".35" to i32
  %".52" = call i32 asm sideeffect "", "=r,0"(i32 %".51")
  %".53" = zext i32 %".52" to i64
  %".54" = mul i64 %".53", 4
  %".55" = mul i64 %".33", 4
  %".56" = icmp slt i64 %".54", %".4"
  br i1 %".56", label %"body.if", label %"body.endif"
body.if:
  %".58" = mul nsw i64 %".4", %".42"
  %".59" = add nsw i64 %".58", %".54"
  %".60" = getelementptr float, float addrspace(1)* %".7", i64 %".59"
  %".61" = bitcast float addrspace(1)* %".60" to i128 addrspace(1)*
  %".62" = load i128, i128 addrspace(1)* %".61", align 16, !alias.scope !3, !noalias !4
  %".63" = lshr i128 %".62", 0
  %".64" = trunc i128 %".63" to i32
  %".65" = lshr i128 %".62", 32
  %".66" = trunc i128 %".65" to i32
  %".67" = lshr i128 %".62", 64
  %".68" = trunc i128 %".67" to i32
  %".69" = lshr i128 %".62", 96
  %".70" = trunc i128 %".69" to i32
  %".71" = bitcast i32 %".64" to float
  %".72" = bitcast i32 %".66" to float
  %".73" = bitcast i32 %".68" to float
  %".74" = bitcast i32 %".70" to float
  store float %".71", float* %".43"
  store float %".72", float* %".44"
  store float %".73", float* %".45"
  store float %".74", float* %".46"
  %".79" = load float, float* %".43"
  %".80" = load float, float* %".44"
  %".81" = load float, float* %".45"
  %".82" = load float, float* %".46"
  %".83" = add i64 %".54", 0
  %".84" = add i64 %".54", 1
  %".85" = add i64 %".54", 2
  %".86" = add i64 %".54", 3
  %".87" = load float, float* %".49"
  %".88" = call float @"llvm.maximum.f32"(float %".87", float %".79")
  store float %".88", float* %".49"
  %".90" = load float, float* %".49"
  %".91" = call float @"llvm.maximum.f32"(float %".90", float %".80")
  store float %".91", float* %".49"
  %".93" = load float, float* %".49"
  %".94" = call float @"llvm.maximum.f32"(float %".93", float %".81")
  store float %".94", float* %".49"
  %".96" = load float, float* %".49"
  %".97" = call float @"llvm.maximum.f32"(float %".96", float %".82")
  store float %".97", float* %".49"
  br label %"body.endif"
body.endif:
  %".101" = icmp slt i64 %".33", 32
  %".102" = select  i1 %".101", i64 %".33", i64 32
  %".103" = lshr i64 %".102", 1
  store i64 %".103", i64* %".100"
  br label %"head"
head:
  %".106" = load i64, i64* %".100"
  %".107" = icmp ugt i64 %".106", 0
  br i1 %".107", label %"loop", label %"after"
loop:
  %".109" = load i64, i64* %".100"
  %".110" = load float, float* %".49"
  %".111" = bitcast float %".110" to i32
  %".112" = trunc i64 %".109" to i32
  %".113" = call i32 @"shuffle"(i32 %".111", i32 %".112")
  %".114" = bitcast i32 %".113" to float
  %".115" = load float, float* %".49"
  %".116" = call float @"llvm.maximum.f32"(float %".115", float %".114")
  store float %".116", float* %".49"
  %".118" = lshr i64 %".109", 1
  store i64 %".118", i64* %".100"
  br label %"head"
after:
  %".121" = icmp ugt i64 %".33", 32
  br i1 %".121", label %"after.if", label %"after.endif"
after.if:
  %".123" = sub i64 %".9", %".35"
  %".124" = lshr i64 %".123", 5
  %".125" = lshr i64 %".33", 5
  %".126" = lshr i64 %".9", 5
  %".127" = and i64 %".9", 31
  %".128" = icmp eq i64 %".127", 0
  %".129" = getelementptr [0 x i8], [0 x i8] addrspace(3)* @"shared", i64 0, i64 0
  %".130" = bitcast i8 addrspace(3)* %".129" to float addrspace(3)*
  br i1 %".128", label %"after.if.if", label %"after.if.endif"
after.endif:
  %".157" = load float, float* %".49"
  store double              0x0, double* %".158"
  store float              0x0, float* %".159"
  %".162" = trunc i64 %".35" to i32
  %".163" = call i32 asm sideeffect "", "=r,0"(i32 %".162")
  %".164" = zext i32 %".163" to i64
  %".165" = mul i64 %".164", 4
  %".166" = mul i64 %".33", 4
  %".167" = icmp slt i64 %".165", %".4"
  br i1 %".167", label %"after.endif.if", label %"after.endif.endif"
after.if.if:
  %".132" = load float, float* %".49"
  %".133" = getelementptr float, float addrspace(3)* %".130", i64 %".126"
  store float %".132", float addrspace(3)* %".133"
  br label %"after.if.endif"
after.if.endif:
  call void @"barrier"()
  %".137" = mul i64 0, 1
  %".138" = add i64 %".124", %".137"
  %".139" = getelementptr float, float addrspace(3)* %".130", i64 %".138"
  %".140" = load float, float addrspace(3)* %".139"
  store float %".140", float* %".49"
  br label %"head.1"
head.1:
  %".143" = phi  i64 [1, %"after.if.endif"], [%".153", %"loop.1"]
  %".144" = icmp slt i64 %".143", %".125"
  br i1 %".144", label %"loop.1", label %"after.1"
loop.1:
  %".146" = mul i64 %".143", 1
  %".147" = add i64 %".124", %".146"
  %".148" = getelementptr float, float addrspace(3)* %".130", i64 %".147"
  %".149" = load float, float addrspace(3)* %".148"
  %".150" = load float, float* %".49"
  %".151" = call float @"llvm.maximum.f32"(float %".150", float %".149")
  store float %".151", float* %".49"
  %".153" = add nsw i64 %".143", 1
  br label %"head.1"
after.1:
  call void @"barrier"()
  br label %"after.endif"
after.endif.if:
  %".169" = load float, float* %".43"
  %".170" = load float, float* %".44"
  %".171" = load float, float* %".45"
  %".172" = load float, float* %".46"
  %".173" = add i64 %".165", 0
  %".174" = add i64 %".165", 1
  %".175" = add i64 %".165", 2
  %".176" = add i64 %".165", 3
  %".177" = fsub float %".169", %".157"
  %".178" = fcmp olt float %".177", 0xc05a000000000000
  %".179" = select  i1 %".178", float 0xc05a000000000000, float %".177"
  %".180" = fcmp ogt float %".179", 0x4056400000000000
  %".181" = select  i1 %".180", float 0x4056400000000000, float %".179"
  %".182" = call float @"llvm.fma.f32"(float %".181", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".183" = fsub float %".182", 0x4168001fc0000000
  %".184" = call float @"llvm.fma.f32"(float %".183", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".185" = call float @"llvm.fma.f32"(float %".183", float 0xbfe6300000000000, float %".181")
  %".186" = call float @"llvm.fma.f32"(float %".183", float 0x3f2bd01060000000, float %".185")
  %".187" = bitcast float %".184" to i32
  %".188" = shl i32 %".187", 23
  %".189" = bitcast float %".182" to i32
  %".190" = bitcast float %".184" to i32
  %".191" = sub i32 %".189", %".190"
  %".192" = shl i32 %".191", 23
  %".193" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".186", float 0x3f8123a020000000)
  %".194" = call float @"llvm.fma.f32"(float %".193", float %".186", float 0x3fa5558f20000000)
  %".195" = call float @"llvm.fma.f32"(float %".194", float %".186", float 0x3fc5554920000000)
  %".196" = call float @"llvm.fma.f32"(float %".195", float %".186", float 0x3fdfffffc0000000)
  %".197" = call float @"llvm.fma.f32"(float %".196", float %".186", float 0x3ff0000000000000)
  %".198" = call float @"llvm.fma.f32"(float %".197", float %".186", float 0x3ff0000000000000)
  %".199" = bitcast i32 %".188" to float
  %".200" = fmul float %".198", %".199"
  %".201" = bitcast i32 %".192" to float
  %".202" = fmul float %".200", %".201"
  %".203" = load float, float* %".159"
  %".204" = fadd reassoc float %".203", %".202"
  store float %".204", float* %".159"
  %".206" = fsub float %".170", %".157"
  %".207" = fcmp olt float %".206", 0xc05a000000000000
  %".208" = select  i1 %".207", float 0xc05a000000000000, float %".206"
  %".209" = fcmp ogt float %".208", 0x4056400000000000
  %".210" = select  i1 %".209", float 0x4056400000000000, float %".208"
  %".211" = call float @"llvm.fma.f32"(float %".210", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".212" = fsub float %".211", 0x4168001fc0000000
  %".213" = call float @"llvm.fma.f32"(float %".212", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".214" = call float @"llvm.fma.f32"(float %".212", float 0xbfe6300000000000, float %".210")
  %".215" = call float @"llvm.fma.f32"(float %".212", float 0x3f2bd01060000000, float %".214")
  %".216" = bitcast float %".213" to i32
  %".217" = shl i32 %".216", 23
  %".218" = bitcast float %".211" to i32
  %".219" = bitcast float %".213" to i32
  %".220" = sub i32 %".218", %".219"
  %".221" = shl i32 %".220", 23
  %".222" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".215", float 0x3f8123a020000000)
  %".223" = call float @"llvm.fma.f32"(float %".222", float %".215", float 0x3fa5558f20000000)
  %".224" = call float @"llvm.fma.f32"(float %".223", float %".215", float 0x3fc5554920000000)
  %".225" = call float @"llvm.fma.f32"(float %".224", float %".215", float 0x3fdfffffc0000000)
  %".226" = call float @"llvm.fma.f32"(float %".225", float %".215", float 0x3ff0000000000000)
  %".227" = call float @"llvm.fma.f32"(float %".226", float %".215", float 0x3ff0000000000000)
  %".228" = bitcast i32 %".217" to float
  %".229" = fmul float %".227", %".228"
  %".230" = bitcast i32 %".221" to float
  %".231" = fmul float %".229", %".230"
  %".232" = load float, float* %".159"
  %".233" = fadd reassoc float %".232", %".231"
  store float %".233", float* %".159"
  %".235" = fsub float %".171", %".157"
  %".236" = fcmp olt float %".235", 0xc05a000000000000
  %".237" = select  i1 %".236", float 0xc05a000000000000, float %".235"
  %".238" = fcmp ogt float %".237", 0x4056400000000000
  %".239" = select  i1 %".238", float 0x4056400000000000, float %".237"
  %".240" = call float @"llvm.fma.f32"(float %".239", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".241" = fsub float %".240", 0x4168001fc0000000
  %".242" = call float @"llvm.fma.f32"(float %".241", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".243" = call float @"llvm.fma.f32"(float %".241", float 0xbfe6300000000000, float %".239")
  %".244" = call float @"llvm.fma.f32"(float %".241", float 0x3f2bd01060000000, float %".243")
  %".245" = bitcast float %".242" to i32
  %".246" = shl i32 %".245", 23
  %".247" = bitcast float %".240" to i32
  %".248" = bitcast float %".242" to i32
  %".249" = sub i32 %".247", %".248"
  %".250" = shl i32 %".249", 23
  %".251" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".244", float 0x3f8123a020000000)
  %".252" = call float @"llvm.fma.f32"(float %".251", float %".244", float 0x3fa5558f20000000)
  %".253" = call float @"llvm.fma.f32"(float %".252", float %".244", float 0x3fc5554920000000)
  %".254" = call float @"llvm.fma.f32"(float %".253", float %".244", float 0x3fdfffffc0000000)
  %".255" = call float @"llvm.fma.f32"(float %".254", float %".244", float 0x3ff0000000000000)
  %".256" = call float @"llvm.fma.f32"(float %".255", float %".244", float 0x3ff0000000000000)
  %".257" = bitcast i32 %".246" to float
  %".258" = fmul float %".256", %".257"
  %".259" = bitcast i32 %".250" to float
  %".260" = fmul float %".258", %".259"
  %".261" = load float, float* %".159"
  %".262" = fadd reassoc float %".261", %".260"
  store float %".262", float* %".159"
  %".264" = fsub float %".172", %".157"
  %".265" = fcmp olt float %".264", 0xc05a000000000000
  %".266" = select  i1 %".265", float 0xc05a000000000000, float %".264"
  %".267" = fcmp ogt float %".266", 0x4056400000000000
  %".268" = select  i1 %".267", float 0x4056400000000000, float %".266"
  %".269" = call float @"llvm.fma.f32"(float %".268", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".270" = fsub float %".269", 0x4168001fc0000000
  %".271" = call float @"llvm.fma.f32"(float %".270", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".272" = call float @"llvm.fma.f32"(float %".270", float 0xbfe6300000000000, float %".268")
  %".273" = call float @"llvm.fma.f32"(float %".270", float 0x3f2bd01060000000, float %".272")
  %".274" = bitcast float %".271" to i32
  %".275" = shl i32 %".274", 23
  %".276" = bitcast float %".269" to i32
  %".277" = bitcast float %".271" to i32
  %".278" = sub i32 %".276", %".277"
  %".279" = shl i32 %".278", 23
  %".280" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".273", float 0x3f8123a020000000)
  %".281" = call float @"llvm.fma.f32"(float %".280", float %".273", float 0x3fa5558f20000000)
  %".282" = call float @"llvm.fma.f32"(float %".281", float %".273", float 0x3fc5554920000000)
  %".283" = call float @"llvm.fma.f32"(float %".282", float %".273", float 0x3fdfffffc0000000)
  %".284" = call float @"llvm.fma.f32"(float %".283", float %".273", float 0x3ff0000000000000)
  %".285" = call float @"llvm.fma.f32"(float %".284", float %".273", float 0x3ff0000000000000)
  %".286" = bitcast i32 %".275" to float
  %".287" = fmul float %".285", %".286"
  %".288" = bitcast i32 %".279" to float
  %".289" = fmul float %".287", %".288"
  %".290" = load float, float* %".159"
  %".291" = fadd reassoc float %".290", %".289"
  store float %".291", float* %".159"
  br label %"after.endif.endif"
after.endif.endif:
  %".294" = load float, float* %".159"
  %".295" = fpext float %".294" to double
  %".296" = load double, double* %".158"
  %".297" = fadd double %".296", %".295"
  store double %".297", double* %".158"
  %".300" = icmp slt i64 %".33", 32
  %".301" = select  i1 %".300", i64 %".33", i64 32
  %".302" = lshr i64 %".301", 1
  store i64 %".302", i64* %".299"
  br label %"head.2"
head.2:
  %".305" = load i64, i64* %".299"
  %".306" = icmp ugt i64 %".305", 0
  br i1 %".306", label %"loop.2", label %"after.2"
loop.2:
  %".308" = load i64, i64* %".299"
  %".309" = load double, double* %".158"
  %".310" = bitcast double %".309" to i64
  %".311" = trunc i64 %".310" to i32
  %".312" = trunc i64 %".308" to i32
  %".313" = call i32 @"shuffle"(i32 %".311", i32 %".312")
  %".314" = lshr i64 %".310", 32
  %".315" = trunc i64 %".314" to i32
  %".316" = trunc i64 %".308" to i32
  %".317" = call i32 @"shuffle"(i32 %".315", i32 %".316")
  %".318" = zext i32 %".313" to i64
  %".319" = zext i32 %".317" to i64
  %".320" = shl i64 %".319", 32
  %".321" = or i64 %".318", %".320"
  %".322" = bitcast i64 %".321" to double
  %".323" = load double, double* %".158"
  %".324" = fadd double %".323", %".322"
  store double %".324", double* %".158"
  %".326" = lshr i64 %".308", 1
  store i64 %".326", i64* %".299"
  br label %"head.2"
after.2:
  %".329" = icmp ugt i64 %".33", 32
  br i1 %".329", label %"after.2.if", label %"after.2.endif"
after.2.if:
  %".331" = sub i64 %".9", %".35"
  %".332" = lshr i64 %".331", 5
  %".333" = lshr i64 %".33", 5
  %".334" = lshr i64 %".9", 5
  %".335" = and i64 %".9", 31
  %".336" = icmp eq i64 %".335", 0
  %".337" = getelementptr [0 x i8], [0 x i8] addrspace(3)* @"shared", i64 0, i64 0
  %".338" = bitcast i8 addrspace(3)* %".337" to double addrspace(3)*
  br i1 %".336", label %"after.2.if.if", label %"after.2.if.endif"
after.2.endif:
  %".365" = load double, double* %".158"
  %".366" = fptrunc double %".365" to float
  %".367" = trunc i64 %".35" to i32
  %".368" = call i32 asm sideeffect "", "=r,0"(i32 %".367")
  %".369" = zext i32 %".368" to i64
  %".370" = mul i64 %".369", 4
  %".371" = mul i64 %".33", 4
  %".372" = icmp slt i64 %".370", %".4"
  br i1 %".372", label %"after.2.endif.if", label %"after.2.endif.endif"
after.2.if.if:
  %".340" = load double, double* %".158"
  %".341" = getelementptr double, double addrspace(3)* %".338", i64 %".334"
  store double %".340", double addrspace(3)* %".341"
  br label %"after.2.if.endif"
after.2.if.endif:
  call void @"barrier"()
  %".345" = mul i64 0, 1
  %".346" = add i64 %".332", %".345"
  %".347" = getelementptr double, double addrspace(3)* %".338", i64 %".346"
  %".348" = load double, double addrspace(3)* %".347"
  store double %".348", double* %".158"
  br label %"head.3"
head.3:
  %".351" = phi  i64 [1, %"after.2.if.endif"], [%".361", %"loop.3"]
  %".352" = icmp slt i64 %".351", %".333"
  br i1 %".352", label %"loop.3", label %"after.3"
loop.3:
  %".354" = mul i64 %".351", 1
  %".355" = add i64 %".332", %".354"
  %".356" = getelementptr double, double addrspace(3)* %".338", i64 %".355"
  %".357" = load double, double addrspace(3)* %".356"
  %".358" = load double, double* %".158"
  %".359" = fadd double %".358", %".357"
  store double %".359", double* %".158"
  %".361" = add nsw i64 %".351", 1
  br label %"head.3"
after.3:
  call void @"barrier"()
  br label %"after.2.endif"
after.2.endif.if:
  %".374" = load float, float* %".43"
  %".375" = load float, float* %".44"
  %".376" = load float, float* %".45"
  %".377" = load float, float* %".46"
  %".378" = add i64 %".370", 0
  %".379" = add i64 %".370", 1
  %".380" = add i64 %".370", 2
  %".381" = add i64 %".370", 3
  %".382" = fsub float %".374", %".157"
  %".383" = fsub float %".375", %".157"
  %".384" = fsub float %".376", %".157"
  %".385" = fsub float %".377", %".157"
  %".386" = fcmp olt float %".382", 0xc05a000000000000
  %".387" = select  i1 %".386", float 0xc05a000000000000, float %".382"
  %".388" = fcmp ogt float %".387", 0x4056400000000000
  %".389" = select  i1 %".388", float 0x4056400000000000, float %".387"
  %".390" = call float @"llvm.fma.f32"(float %".389", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".391" = fsub float %".390", 0x4168001fc0000000
  %".392" = call float @"llvm.fma.f32"(float %".391", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".393" = call float @"llvm.fma.f32"(float %".391", float 0xbfe6300000000000, float %".389")
  %".394" = call float @"llvm.fma.f32"(float %".391", float 0x3f2bd01060000000, float %".393")
  %".395" = bitcast float %".392" to i32
  %".396" = shl i32 %".395", 23
  %".397" = bitcast float %".390" to i32
  %".398" = bitcast float %".392" to i32
  %".399" = sub i32 %".397", %".398"
  %".400" = shl i32 %".399", 23
  %".401" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".394", float 0x3f8123a020000000)
  %".402" = call float @"llvm.fma.f32"(float %".401", float %".394", float 0x3fa5558f20000000)
  %".403" = call float @"llvm.fma.f32"(float %".402", float %".394", float 0x3fc5554920000000)
  %".404" = call float @"llvm.fma.f32"(float %".403", float %".394", float 0x3fdfffffc0000000)
  %".405" = call float @"llvm.fma.f32"(float %".404", float %".394", float 0x3ff0000000000000)
  %".406" = call float @"llvm.fma.f32"(float %".405", float %".394", float 0x3ff0000000000000)
  %".407" = bitcast i32 %".396" to float
  %".408" = fmul float %".406", %".407"
  %".409" = bitcast i32 %".400" to float
  %".410" = fmul float %".408", %".409"
  %".411" = fcmp olt float %".383", 0xc05a000000000000
  %".412" = select  i1 %".411", float 0xc05a000000000000, float %".383"
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
  %".436" = fcmp olt float %".384", 0xc05a000000000000
  %".437" = select  i1 %".436", float 0xc05a000000000000, float %".384"
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
  %".461" = fcmp olt float %".385", 0xc05a000000000000
  %".462" = select  i1 %".461", float 0xc05a000000000000, float %".385"
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
  %".486" = fdiv float %".410", %".366"
  %".487" = fdiv float %".435", %".366"
  %".488" = fdiv float %".460", %".366"
  %".489" = fdiv float %".485", %".366"
  br i1 %".40", label %"after.2.endif.if.if", label %"after.2.endif.if.endif"
after.2.endif.endif:
  ret void
after.2.endif.if.if:
  %".491" = insertelement <4 x float> <float undef, float undef, float undef, float undef>, float %".486", i32 0
  %".492" = insertelement <4 x float> %".491", float %".487", i32 1
  %".493" = insertelement <4 x float> %".492", float %".488", i32 2
  %".494" = insertelement <4 x float> %".493", float %".489", i32 3
  %".495" = mul nsw i64 %".4", %".42"
  %".496" = add nsw i64 %".378", %".495"
  %".497" = getelementptr float, float addrspace(1)* %".8", i64 %".496"
  %".498" = bitcast float addrspace(1)* %".497" to <4 x float> addrspace(1)*
  store <4 x float> %".494", <4 x float> addrspace(1)* %".498", align 16, !alias.scope !4, !noalias !3
  br label %"after.2.endif.if.endif"
after.2.endif.if.endif:
  br label %"after.2.endif.endif"
}

define internal void @"numbers"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5") convergent noinline
{
entry:
  %".7" = inttoptr i64 %".2" to float addrspace(1)*
  %".8" = inttoptr i64 %".3" to float addrspace(1)*
  %".43" = alloca float
  %".44" = alloca float
  %".45" = alloca float
  %".46" = alloca float
  %".49" = alloca float
  %".120" = alloca i64
  %".178" = alloca double
  %".179" = alloca float
  %".340" = alloca i64
  br label %"body"
body:
  %".9" = call i64 @"thread"()
  %".10" = call i64 @"threads"()
  %".11" = icmp sgt i64 %".4", 1
  %".12" = select  i1 %".11", i64 %".4", i64 1
  %".13" = sub i64 %".12", 1
  %".14" = call i64 @"llvm.ctlz.i64"(i64 %".13", i1 0)
  %".15" = sub i64 64, %".14"
  %".16" = icmp sge i64 %".5", 2048
  %".17" = select  i1 %".16", i64 4, i64 4
  %".18" = icmp slt i64 %".15", 5
  %".19" = select  i1 %".18", i64 %".15", i64 5
  %".20" = sub i64 %".17", 1
  %".21" = add i64 %".12", %".20"
  %".22" = udiv i64 %".21", %".17"
  %".23" = sub i64 %".22", 1
  %".24" = call i64 @"llvm.ctlz.i64"(i64 %".23", i1 0)
  %".25" = sub i64 64, %".24"
  %".26" = icmp sgt i64 %".25", %".19"
  %".27" = select  i1 %".26", i64 %".25", i64 %".19"
  %".28" = sub i64 %".10", 1
  %".29" = call i64 @"llvm.ctlz.i64"(i64 %".28", i1 0)
  %".30" = sub i64 64, %".29"
  %".31" = icmp slt i64 %".27", %".30"
  %".32" = select  i1 %".31", i64 %".27", i64 %".30"
  %".33" = shl i64 1, %".32"
  %".34" = sub i64 %".33", 1
  %".35" = and i64 %".9", %".34"
  %".36" = lshr i64 %".10", %".32"
  %".37" = mul i64 %".1", %".36"
  %".38" = lshr i64 %".9", %".32"
  %".39" = add i64 %".37", %".38"
  %".40" = icmp slt i64 %".39", %".5"
  %".41" = sub i64 %".5", 1
  %".42" = select  i1 %".40", i64 %".39", i64 %".41"
  %".47" = icmp eq i64 %".35", 0
  %".48" = and i1 %".40", %".47"
  store float 0xfff0000000000000, float* %".49"
  %".51" = trunc i64 %".35" to i32
  %".52" = call i32 asm sideeffect "", "=r,0"(i32 %".51")
  %".53" = zext i32 %".52" to i64
  %".54" = mul i64 %".53", 1
  %".55" = mul i64 %".33", 1
  %".56" = icmp slt i64 %".54", %".4"
  br i1 %".56", label %"body.if", label %"body.endif"
body.if:
  %".58" = mul nsw i64 %".4", %".42"
  %".59" = add nsw i64 %".58", %".54"
  %".60" = getelementptr float, float addrspace(1)* %".7", i64 %".59"
  %".61" = load float, float addrspace(1)* %".60", !alias.scope !3, !noalias !4
  store float %".61", float* %".43"
  %".63" = load float, float* %".43"
  %".64" = add i64 %".54", 0
  %".65" = load float, float* %".49"
  %".66" = call float @"llvm.maximum.f32"(float %".65", float %".63")
  store float %".66", float* %".49"
  br label %"body.endif"
body.endif:
  %".69" = add i64 %".54", %".55"
  %".70" = trunc i64 %".69" to i32
  %".71" = call i32 asm sideeffect "", "=r,0"(i32 %".70")
  %".72" = zext i32 %".71" to i64
  %".73" = icmp slt i64 %".72", %".4"
  br i1 %".73", label %"body.endif.if", label %"body.endif.endif"
body.endif.if:
  %".75" = mul nsw i64 %".4", %".42"
  %".76" = add nsw i64 %".75", %".72"
  %".77" = getelementptr float, float addrspace(1)* %".7", i64 %".76"
  %".78" = load float, float addrspace(1)* %".77", !alias.scope !3, !noalias !4
  store float %".78", float* %".44"
  %".80" = load float, float* %".44"
  %".81" = add i64 %".72", 0
  %".82" = load float, float* %".49"
  %".83" = call float @"llvm.maximum.f32"(float %".82", float %".80")
  store float %".83", float* %".49"
  br label %"body.endif.endif"
body.endif.endif:
  %".86" = add i64 %".72", %".55"
  %".87" = trunc i64 %".86" to i32
  %".88" = call i32 asm sideeffect "", "=r,0"(i32 %".87")
  %".89" = zext i32 %".88" to i64
  %".90" = icmp slt i64 %".89", %".4"
  br i1 %".90", label %"body.endif.endif.if", label %"body.endif.endif.endif"
body.endif.endif.if:
  %".92" = mul nsw i64 %".4", %".42"
  %".93" = add nsw i64 %".92", %".89"
  %".94" = getelementptr float, float addrspace(1)* %".7", i64 %".93"
  %".95" = load float, float addrspace(1)* %".94", !alias.scope !3, !noalias !4
  store float %".95", float* %".45"
  %".97" = load float, float* %".45"
  %".98" = add i64 %".89", 0
  %".99" = load float, float* %".49"
  %".100" = call float @"llvm.maximum.f32"(float %".99", float %".97")
  store float %".100", float* %".49"
  br label %"body.endif.endif.endif"
body.endif.endif.endif:
  %".103" = add i64 %".89", %".55"
  %".104" = trunc i64 %".103" to i32
  %".105" = call i32 asm sideeffect "", "=r,0"(i32 %".104")
  %".106" = zext i32 %".105" to i64
  %".107" = icmp slt i64 %".106", %".4"
  br i1 %".107", label %"body.endif.endif.endif.if", label %"body.endif.endif.endif.endif"
body.endif.endif.endif.if:
  %".109" = mul nsw i64 %".4", %".42"
  %".110" = add nsw i64 %".109", %".106"
  %".111" = getelementptr float, float addrspace(1)* %".7", i64 %".110"
  %".112" = load float, float addrspace(1)* %".111", !alias.scope !3, !noalias !4
  store float %".112", float* %".46"
  %".114" = load float, float* %".46"
  %".115" = add i64 %".106", 0
  %".116" = load float, float* %".49"
  %".117" = call float @"llvm.maximum.f32"(float %".116", float %".114")
  store float %".117", float* %".49"
  br label %"body.endif.endif.endif.endif"
body.endif.endif.endif.endif:
  %".121" = icmp slt i64 %".33", 32
  %".122" = select  i1 %".121", i64 %".33", i64 32
  %".123" = lshr i64 %".122", 1
  store i64 %".123", i64* %".120"
  br label %"head"
head:
  %".126" = load i64, i64* %".120"
  %".127" = icmp ugt i64 %".126", 0
  br i1 %".127", label %"loop", label %"after"
loop:
  %".129" = load i64, i64* %".120"
  %".130" = load float, float* %".49"
  %".131" = bitcast float %".130" to i32
  %".132" = trunc i64 %".129" to i32
  %".133" = call i32 @"shuffle"(i32 %".131", i32 %".132")
  %".134" = bitcast i32 %".133" to float
  %".135" = load float, float* %".49"
  %".136" = call float @"llvm.maximum.f32"(float %".135", float %".134")
  store float %".136", float* %".49"
  %".138" = lshr i64 %".129", 1
  store i64 %".138", i64* %".120"
  br label %"head"
after:
  %".141" = icmp ugt i64 %".33", 32
  br i1 %".141", label %"after.if", label %"after.endif"
after.if:
  %".143" = sub i64 %".9", %".35"
  %".144" = lshr i64 %".143", 5
  %".145" = lshr i64 %".33", 5
  %".146" = lshr i64 %".9", 5
  %".147" = and i64 %".9", 31
  %".148" = icmp eq i64 %".147", 0
  %".149" = getelementptr [0 x i8], [0 x i8] addrspace(3)* @"shared", i64 0, i64 0
  %".150" = bitcast i8 addrspace(3)* %".149" to float addrspace(3)*
  br i1 %".148", label %"after.if.if", label %"after.if.endif"
after.endif:
  %".177" = load float, float* %".49"
  store double              0x0, double* %".178"
  store float              0x0, float* %".179"
  %".182" = trunc i64 %".35" to i32
  %".183" = call i32 asm sideeffect "", "=r,0"(i32 %".182")
  %".184" = zext i32 %".183" to i64
  %".185" = mul i64 %".184", 1
  %".186" = mul i64 %".33", 1
  %".187" = icmp slt i64 %".185", %".4"
  br i1 %".187", label %"after.endif.if", label %"after.endif.endif"
after.if.if:
  %".152" = load float, float* %".49"
  %".153" = getelementptr float, float addrspace(3)* %".150", i64 %".146"
  store float %".152", float addrspace(3)* %".153"
  br label %"after.if.endif"
after.if.endif:
  call void @"barrier"()
  %".157" = mul i64 0, 1
  %".158" = add i64 %".144", %".157"
  %".159" = getelementptr float, float addrspace(3)* %".150", i64 %".158"
  %".160" = load float, float addrspace(3)* %".159"
  store float %".160", float* %".49"
  br label %"head.1"
head.1:
  %".163" = phi  i64 [1, %"after.if.endif"], [%".173", %"loop.1"]
  %".164" = icmp slt i64 %".163", %".145"
  br i1 %".164", label %"loop.1", label %"after.1"
loop.1:
  %".166" = mul i64 %".163", 1
  %".167" = add i64 %".144", %".166"
  %".168" = getelementptr float, float addrspace(3)* %".150", i64 %".167"
  %".169" = load float, float addrspace(3)* %".168"
  %".170" = load float, float* %".49"
  %".171" = call float @"llvm.maximum.f32"(float %".170", float %".169")
  store float %".171", float* %".49"
  %".173" = add nsw i64 %".163", 1
  br label %"head.1"
after.1:
  call void @"barrier"()
  br label %"after.endif"
after.endif.if:
  %".189" = load float, float* %".43"
  %".190" = add i64 %".185", 0
  %".191" = fsub float %".189", %".177"
  %".192" = fcmp olt float %".191", 0xc05a000000000000
  %".193" = select  i1 %".192", float 0xc05a000000000000, float %".191"
  %".194" = fcmp ogt float %".193", 0x4056400000000000
  %".195" = select  i1 %".194", float 0x4056400000000000, float %".193"
  %".196" = call float @"llvm.fma.f32"(float %".195", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".197" = fsub float %".196", 0x4168001fc0000000
  %".198" = call float @"llvm.fma.f32"(float %".197", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".199" = call float @"llvm.fma.f32"(float %".197", float 0xbfe6300000000000, float %".195")
  %".200" = call float @"llvm.fma.f32"(float %".197", float 0x3f2bd01060000000, float %".199")
  %".201" = bitcast float %".198" to i32
  %".202" = shl i32 %".201", 23
  %".203" = bitcast float %".196" to i32
  %".204" = bitcast float %".198" to i32
  %".205" = sub i32 %".203", %".204"
  %".206" = shl i32 %".205", 23
  %".207" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".200", float 0x3f8123a020000000)
  %".208" = call float @"llvm.fma.f32"(float %".207", float %".200", float 0x3fa5558f20000000)
  %".209" = call float @"llvm.fma.f32"(float %".208", float %".200", float 0x3fc5554920000000)
  %".210" = call float @"llvm.fma.f32"(float %".209", float %".200", float 0x3fdfffffc0000000)
  %".211" = call float @"llvm.fma.f32"(float %".210", float %".200", float 0x3ff0000000000000)
  %".212" = call float @"llvm.fma.f32"(float %".211", float %".200", float 0x3ff0000000000000)
  %".213" = bitcast i32 %".202" to float
  %".214" = fmul float %".212", %".213"
  %".215" = bitcast i32 %".206" to float
  %".216" = fmul float %".214", %".215"
  %".217" = load float, float* %".179"
  %".218" = fadd reassoc float %".217", %".216"
  store float %".218", float* %".179"
  br label %"after.endif.endif"
after.endif.endif:
  %".221" = add i64 %".185", %".186"
  %".222" = trunc i64 %".221" to i32
  %".223" = call i32 asm sideeffect "", "=r,0"(i32 %".222")
  %".224" = zext i32 %".223" to i64
  %".225" = icmp slt i64 %".224", %".4"
  br i1 %".225", label %"after.endif.endif.if", label %"after.endif.endif.endif"
after.endif.endif.if:
  %".227" = load float, float* %".44"
  %".228" = add i64 %".224", 0
  %".229" = fsub float %".227", %".177"
  %".230" = fcmp olt float %".229", 0xc05a000000000000
  %".231" = select  i1 %".230", float 0xc05a000000000000, float %".229"
  %".232" = fcmp ogt float %".231", 0x4056400000000000
  %".233" = select  i1 %".232", float 0x4056400000000000, float %".231"
  %".234" = call float @"llvm.fma.f32"(float %".233", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".235" = fsub float %".234", 0x4168001fc0000000
  %".236" = call float @"llvm.fma.f32"(float %".235", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".237" = call float @"llvm.fma.f32"(float %".235", float 0xbfe6300000000000, float %".233")
  %".238" = call float @"llvm.fma.f32"(float %".235", float 0x3f2bd01060000000, float %".237")
  %".239" = bitcast float %".236" to i32
  %".240" = shl i32 %".239", 23
  %".241" = bitcast float %".234" to i32
  %".242" = bitcast float %".236" to i32
  %".243" = sub i32 %".241", %".242"
  %".244" = shl i32 %".243", 23
  %".245" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".238", float 0x3f8123a020000000)
  %".246" = call float @"llvm.fma.f32"(float %".245", float %".238", float 0x3fa5558f20000000)
  %".247" = call float @"llvm.fma.f32"(float %".246", float %".238", float 0x3fc5554920000000)
  %".248" = call float @"llvm.fma.f32"(float %".247", float %".238", float 0x3fdfffffc0000000)
  %".249" = call float @"llvm.fma.f32"(float %".248", float %".238", float 0x3ff0000000000000)
  %".250" = call float @"llvm.fma.f32"(float %".249", float %".238", float 0x3ff0000000000000)
  %".251" = bitcast i32 %".240" to float
  %".252" = fmul float %".250", %".251"
  %".253" = bitcast i32 %".244" to float
  %".254" = fmul float %".252", %".253"
  %".255" = load float, float* %".179"
  %".256" = fadd reassoc float %".255", %".254"
  store float %".256", float* %".179"
  br label %"after.endif.endif.endif"
after.endif.endif.endif:
  %".259" = add i64 %".224", %".186"
  %".260" = trunc i64 %".259" to i32
  %".261" = call i32 asm sideeffect "", "=r,0"(i32 %".260")
  %".262" = zext i32 %".261" to i64
  %".263" = icmp slt i64 %".262", %".4"
  br i1 %".263", label %"after.endif.endif.endif.if", label %"after.endif.endif.endif.endif"
after.endif.endif.endif.if:
  %".265" = load float, float* %".45"
  %".266" = add i64 %".262", 0
  %".267" = fsub float %".265", %".177"
  %".268" = fcmp olt float %".267", 0xc05a000000000000
  %".269" = select  i1 %".268", float 0xc05a000000000000, float %".267"
  %".270" = fcmp ogt float %".269", 0x4056400000000000
  %".271" = select  i1 %".270", float 0x4056400000000000, float %".269"
  %".272" = call float @"llvm.fma.f32"(float %".271", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".273" = fsub float %".272", 0x4168001fc0000000
  %".274" = call float @"llvm.fma.f32"(float %".273", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".275" = call float @"llvm.fma.f32"(float %".273", float 0xbfe6300000000000, float %".271")
  %".276" = call float @"llvm.fma.f32"(float %".273", float 0x3f2bd01060000000, float %".275")
  %".277" = bitcast float %".274" to i32
  %".278" = shl i32 %".277", 23
  %".279" = bitcast float %".272" to i32
  %".280" = bitcast float %".274" to i32
  %".281" = sub i32 %".279", %".280"
  %".282" = shl i32 %".281", 23
  %".283" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".276", float 0x3f8123a020000000)
  %".284" = call float @"llvm.fma.f32"(float %".283", float %".276", float 0x3fa5558f20000000)
  %".285" = call float @"llvm.fma.f32"(float %".284", float %".276", float 0x3fc5554920000000)
  %".286" = call float @"llvm.fma.f32"(float %".285", float %".276", float 0x3fdfffffc0000000)
  %".287" = call float @"llvm.fma.f32"(float %".286", float %".276", float 0x3ff0000000000000)
  %".288" = call float @"llvm.fma.f32"(float %".287", float %".276", float 0x3ff0000000000000)
  %".289" = bitcast i32 %".278" to float
  %".290" = fmul float %".288", %".289"
  %".291" = bitcast i32 %".282" to float
  %".292" = fmul float %".290", %".291"
  %".293" = load float, float* %".179"
  %".294" = fadd reassoc float %".293", %".292"
  store float %".294", float* %".179"
  br label %"after.endif.endif.endif.endif"
after.endif.endif.endif.endif:
  %".297" = add i64 %".262", %".186"
  %".298" = trunc i64 %".297" to i32
  %".299" = call i32 asm sideeffect "", "=r,0"(i32 %".298")
  %".300" = zext i32 %".299" to i64
  %".301" = icmp slt i64 %".300", %".4"
  br i1 %".301", label %"after.endif.endif.endif.endif.if", label %"after.endif.endif.endif.endif.endif"
after.endif.endif.endif.endif.if:
  %".303" = load float, float* %".46"
  %".304" = add i64 %".300", 0
  %".305" = fsub float %".303", %".177"
  %".306" = fcmp olt float %".305", 0xc05a000000000000
  %".307" = select  i1 %".306", float 0xc05a000000000000, float %".305"
  %".308" = fcmp ogt float %".307", 0x4056400000000000
  %".309" = select  i1 %".308", float 0x4056400000000000, float %".307"
  %".310" = call float @"llvm.fma.f32"(float %".309", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".311" = fsub float %".310", 0x4168001fc0000000
  %".312" = call float @"llvm.fma.f32"(float %".311", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".313" = call float @"llvm.fma.f32"(float %".311", float 0xbfe6300000000000, float %".309")
  %".314" = call float @"llvm.fma.f32"(float %".311", float 0x3f2bd01060000000, float %".313")
  %".315" = bitcast float %".312" to i32
  %".316" = shl i32 %".315", 23
  %".317" = bitcast float %".310" to i32
  %".318" = bitcast float %".312" to i32
  %".319" = sub i32 %".317", %".318"
  %".320" = shl i32 %".319", 23
  %".321" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".314", float 0x3f8123a020000000)
  %".322" = call float @"llvm.fma.f32"(float %".321", float %".314", float 0x3fa5558f20000000)
  %".323" = call float @"llvm.fma.f32"(float %".322", float %".314", float 0x3fc5554920000000)
  %".324" = call float @"llvm.fma.f32"(float %".323", float %".314", float 0x3fdfffffc0000000)
  %".325" = call float @"llvm.fma.f32"(float %".324", float %".314", float 0x3ff0000000000000)
  %".326" = call float @"llvm.fma.f32"(float %".325", float %".314", float 0x3ff0000000000000)
  %".327" = bitcast i32 %".316" to float
  %".328" = fmul float %".326", %".327"
  %".329" = bitcast i32 %".320" to float
  %".330" = fmul float %".328", %".329"
  %".331" = load float, float* %".179"
  %".332" = fadd reassoc float %".331", %".330"
  store float %".332", float* %".179"
  br label %"after.endif.endif.endif.endif.endif"
after.endif.endif.endif.endif.endif:
  %".335" = load float, float* %".179"
  %".336" = fpext float %".335" to double
  %".337" = load double, double* %".178"
  %".338" = fadd double %".337", %".336"
  store double %".338", double* %".178"
  %".341" = icmp slt i64 %".33", 32
  %".342" = select  i1 %".341", i64 %".33", i64 32
  %".343" = lshr i64 %".342", 1
  store i64 %".343", i64* %".340"
  br label %"head.2"
head.2:
  %".346" = load i64, i64* %".340"
  %".347" = icmp ugt i64 %".346", 0
  br i1 %".347", label %"loop.2", label %"after.2"
loop.2:
  %".349" = load i64, i64* %".340"
  %".350" = load double, double* %".178"
  %".351" = bitcast double %".350" to i64
  %".352" = trunc i64 %".351" to i32
  %".353" = trunc i64 %".349" to i32
  %".354" = call i32 @"shuffle"(i32 %".352", i32 %".353")
  %".355" = lshr i64 %".351", 32
  %".356" = trunc i64 %".355" to i32
  %".357" = trunc i64 %".349" to i32
  %".358" = call i32 @"shuffle"(i32 %".356", i32 %".357")
  %".359" = zext i32 %".354" to i64
  %".360" = zext i32 %".358" to i64
  %".361" = shl i64 %".360", 32
  %".362" = or i64 %".359", %".361"
  %".363" = bitcast i64 %".362" to double
  %".364" = load double, double* %".178"
  %".365" = fadd double %".364", %".363"
  store double %".365", double* %".178"
  %".367" = lshr i64 %".349", 1
  store i64 %".367", i64* %".340"
  br label %"head.2"
after.2:
  %".370" = icmp ugt i64 %".33", 32
  br i1 %".370", label %"after.2.if", label %"after.2.endif"
after.2.if:
  %".372" = sub i64 %".9", %".35"
  %".373" = lshr i64 %".372", 5
  %".374" = lshr i64 %".33", 5
  %".375" = lshr i64 %".9", 5
  %".376" = and i64 %".9", 31
  %".377" = icmp eq i64 %".376", 0
  %".378" = getelementptr [0 x i8], [0 x i8] addrspace(3)* @"shared", i64 0, i64 0
  %".379" = bitcast i8 addrspace(3)* %".378" to double addrspace(3)*
  br i1 %".377", label %"after.2.if.if", label %"after.2.if.endif"
after.2.endif:
  %".406" = load double, double* %".178"
  %".407" = fptrunc double %".406" to float
  %".408" = trunc i64 %".35" to i32
  %".409" = call i32 asm sideeffect "", "=r,0"(i32 %".408")
  %".410" = zext i32 %".409" to i64
  %".411" = mul i64 %".410", 1
  %".412" = mul i64 %".33", 1
  %".413" = icmp slt i64 %".411", %".4"
  br i1 %".413", label %"after.2.endif.if", label %"after.2.endif.endif"
after.2.if.if:
  %".381" = load double, double* %".178"
  %".382" = getelementptr double, double addrspace(3)* %".379", i64 %".375"
  store double %".381", double addrspace(3)* %".382"
  br label %"after.2.if.endif"
after.2.if.endif:
  call void @"barrier"()
  %".386" = mul i64 0, 1
  %".387" = add i64 %".373", %".386"
  %".388" = getelementptr double, double addrspace(3)* %".379", i64 %".387"
  %".389" = load double, double addrspace(3)* %".388"
  store double %".389", double* %".178"
  br label %"head.3"
head.3:
  %".392" = phi  i64 [1, %"after.2.if.endif"], [%".402", %"loop.3"]
  %".393" = icmp slt i64 %".392", %".374"
  br i1 %".393", label %"loop.3", label %"after.3"
loop.3:
  %".395" = mul i64 %".392", 1
  %".396" = add i64 %".373", %".395"
  %".397" = getelementptr double, double addrspace(3)* %".379", i64 %".396"
  %".398" = load double, double addrspace(3)* %".397"
  %".399" = load double, double* %".178"
  %".400" = fadd double %".399", %".398"
  store double %".400", double* %".178"
  %".402" = add nsw i64 %".392", 1
  br label %"head.3"
after.3:
  call void @"barrier"()
  br label %"after.2.endif"
after.2.endif.if:
  %".415" = load float, float* %".43"
  %".416" = add i64 %".411", 0
  %".417" = fsub float %".415", %".177"
  %".418" = fcmp olt float %".417", 0xc05a000000000000
  %".419" = select  i1 %".418", float 0xc05a000000000000, float %".417"
  %".420" = fcmp ogt float %".419", 0x4056400000000000
  %".421" = select  i1 %".420", float 0x4056400000000000, float %".419"
  %".422" = call float @"llvm.fma.f32"(float %".421", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".423" = fsub float %".422", 0x4168001fc0000000
  %".424" = call float @"llvm.fma.f32"(float %".423", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".425" = call float @"llvm.fma.f32"(float %".423", float 0xbfe6300000000000, float %".421")
  %".426" = call float @"llvm.fma.f32"(float %".423", float 0x3f2bd01060000000, float %".425")
  %".427" = bitcast float %".424" to i32
  %".428" = shl i32 %".427", 23
  %".429" = bitcast float %".422" to i32
  %".430" = bitcast float %".424" to i32
  %".431" = sub i32 %".429", %".430"
  %".432" = shl i32 %".431", 23
  %".433" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".426", float 0x3f8123a020000000)
  %".434" = call float @"llvm.fma.f32"(float %".433", float %".426", float 0x3fa5558f20000000)
  %".435" = call float @"llvm.fma.f32"(float %".434", float %".426", float 0x3fc5554920000000)
  %".436" = call float @"llvm.fma.f32"(float %".435", float %".426", float 0x3fdfffffc0000000)
  %".437" = call float @"llvm.fma.f32"(float %".436", float %".426", float 0x3ff0000000000000)
  %".438" = call float @"llvm.fma.f32"(float %".437", float %".426", float 0x3ff0000000000000)
  %".439" = bitcast i32 %".428" to float
  %".440" = fmul float %".438", %".439"
  %".441" = bitcast i32 %".432" to float
  %".442" = fmul float %".440", %".441"
  %".443" = fdiv float %".442", %".407"
  br i1 %".40", label %"after.2.endif.if.if", label %"after.2.endif.if.endif"
after.2.endif.endif:
  %".453" = add i64 %".411", %".412"
  %".454" = trunc i64 %".453" to i32
  %".455" = call i32 asm sideeffect "", "=r,0"(i32 %".454")
  %".456" = zext i32 %".455" to i64
  %".457" = icmp slt i64 %".456", %".4"
  br i1 %".457", label %"after.2.endif.endif.if", label %"after.2.endif.endif.endif"
after.2.endif.if.if:
  %".445" = insertelement <1 x float> <float undef>, float %".443", i32 0
  %".446" = mul nsw i64 %".4", %".42"
  %".447" = add nsw i64 %".416", %".446"
  %".448" = getelementptr float, float addrspace(1)* %".8", i64 %".447"
  %".449" = bitcast float addrspace(1)* %".448" to <1 x float> addrspace(1)*
  store <1 x float> %".445", <1 x float> addrspace(1)* %".449", align 4, !alias.scope !4, !noalias !3
  br label %"after.2.endif.if.endif"
after.2.endif.if.endif:
  br label %"after.2.endif.endif"
after.2.endif.endif.if:
  %".459" = load float, float* %".44"
  %".460" = add i64 %".456", 0
  %".461" = fsub float %".459", %".177"
  %".462" = fcmp olt float %".461", 0xc05a000000000000
  %".463" = select  i1 %".462", float 0xc05a000000000000, float %".461"
  %".464" = fcmp ogt float %".463", 0x4056400000000000
  %".465" = select  i1 %".464", float 0x4056400000000000, float %".463"
  %".466" = call float @"llvm.fma.f32"(float %".465", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".467" = fsub float %".466", 0x4168001fc0000000
  %".468" = call float @"llvm.fma.f32"(float %".467", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".469" = call float @"llvm.fma.f32"(float %".467", float 0xbfe6300000000000, float %".465")
  %".470" = call float @"llvm.fma.f32"(float %".467", float 0x3f2bd01060000000, float %".469")
  %".471" = bitcast float %".468" to i32
  %".472" = shl i32 %".471", 23
  %".473" = bitcast float %".466" to i32
  %".474" = bitcast float %".468" to i32
  %".475" = sub i32 %".473", %".474"
  %".476" = shl i32 %".475", 23
  %".477" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".470", float 0x3f8123a020000000)
  %".478" = call float @"llvm.fma.f32"(float %".477", float %".470", float 0x3fa5558f20000000)
  %".479" = call float @"llvm.fma.f32"(float %".478", float %".470", float 0x3fc5554920000000)
  %".480" = call float @"llvm.fma.f32"(float %".479", float %".470", float 0x3fdfffffc0000000)
  %".481" = call float @"llvm.fma.f32"(float %".480", float %".470", float 0x3ff0000000000000)
  %".482" = call float @"llvm.fma.f32"(float %".481", float %".470", float 0x3ff0000000000000)
  %".483" = bitcast i32 %".472" to float
  %".484" = fmul float %".482", %".483"
  %".485" = bitcast i32 %".476" to float
  %".486" = fmul float %".484", %".485"
  %".487" = fdiv float %".486", %".407"
  br i1 %".40", label %"after.2.endif.endif.if.if", label %"after.2.endif.endif.if.endif"
after.2.endif.endif.endif:
  %".497" = add i64 %".456", %".412"
  %".498" = trunc i64 %".497" to i32
  %".499" = call i32 asm sideeffect "", "=r,0"(i32 %".498")
  %".500" = zext i32 %".499" to i64
  %".501" = icmp slt i64 %".500", %".4"
  br i1 %".501", label %"after.2.endif.endif.endif.if", label %"after.2.endif.endif.endif.endif"
after.2.endif.endif.if.if:
  %".489" = insertelement <1 x float> <float undef>, float %".487", i32 0
  %".490" = mul nsw i64 %".4", %".42"
  %".491" = add nsw i64 %".460", %".490"
  %".492" = getelementptr float, float addrspace(1)* %".8", i64 %".491"
  %".493" = bitcast float addrspace(1)* %".492" to <1 x float> addrspace(1)*
  store <1 x float> %".489", <1 x float> addrspace(1)* %".493", align 4, !alias.scope !4, !noalias !3
  br label %"after.2.endif.endif.if.endif"
after.2.endif.endif.if.endif:
  br label %"after.2.endif.endif.endif"
after.2.endif.endif.endif.if:
  %".503" = load float, float* %".45"
  %".504" = add i64 %".500", 0
  %".505" = fsub float %".503", %".177"
  %".506" = fcmp olt float %".505", 0xc05a000000000000
  %".507" = select  i1 %".506", float 0xc05a000000000000, float %".505"
  %".508" = fcmp ogt float %".507", 0x4056400000000000
  %".509" = select  i1 %".508", float 0x4056400000000000, float %".507"
  %".510" = call float @"llvm.fma.f32"(float %".509", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".511" = fsub float %".510", 0x4168001fc0000000
  %".512" = call float @"llvm.fma.f32"(float %".511", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".513" = call float @"llvm.fma.f32"(float %".511", float 0xbfe6300000000000, float %".509")
  %".514" = call float @"llvm.fma.f32"(float %".511", float 0x3f2bd01060000000, float %".513")
  %".515" = bitcast float %".512" to i32
  %".516" = shl i32 %".515", 23
  %".517" = bitcast float %".510" to i32
  %".518" = bitcast float %".512" to i32
  %".519" = sub i32 %".517", %".518"
  %".520" = shl i32 %".519", 23
  %".521" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".514", float 0x3f8123a020000000)
  %".522" = call float @"llvm.fma.f32"(float %".521", float %".514", float 0x3fa5558f20000000)
  %".523" = call float @"llvm.fma.f32"(float %".522", float %".514", float 0x3fc5554920000000)
  %".524" = call float @"llvm.fma.f32"(float %".523", float %".514", float 0x3fdfffffc0000000)
  %".525" = call float @"llvm.fma.f32"(float %".524", float %".514", float 0x3ff0000000000000)
  %".526" = call float @"llvm.fma.f32"(float %".525", float %".514", float 0x3ff0000000000000)
  %".527" = bitcast i32 %".516" to float
  %".528" = fmul float %".526", %".527"
  %".529" = bitcast i32 %".520" to float
  %".530" = fmul float %".528", %".529"
  %".531" = fdiv float %".530", %".407"
  br i1 %".40", label %"after.2.endif.endif.endif.if.if", label %"after.2.endif.endif.endif.if.endif"
after.2.endif.endif.endif.endif:
  %".541" = add i64 %".500", %".412"
  %".542" = trunc i64 %".541" to i32
  %".543" = call i32 asm sideeffect "", "=r,0"(i32 %".542")
  %".544" = zext i32 %".543" to i64
  %".545" = icmp slt i64 %".544", %".4"
  br i1 %".545", label %"after.2.endif.endif.endif.endif.if", label %"after.2.endif.endif.endif.endif.endif"
after.2.endif.endif.endif.if.if:
  %".533" = insertelement <1 x float> <float undef>, float %".531", i32 0
  %".534" = mul nsw i64 %".4", %".42"
  %".535" = add nsw i64 %".504", %".534"
  %".536" = getelementptr float, float addrspace(1)* %".8", i64 %".535"
  %".537" = bitcast float addrspace(1)* %".536" to <1 x float> addrspace(1)*
  store <1 x float> %".533", <1 x float> addrspace(1)* %".537", align 4, !alias.scope !4, !noalias !3
  br label %"after.2.endif.endif.endif.if.endif"
after.2.endif.endif.endif.if.endif:
  br label %"after.2.endif.endif.endif.endif"
after.2.endif.endif.endif.endif.if:
  %".547" = load float, float* %".46"
  %".548" = add i64 %".544", 0
  %".549" = fsub float %".547", %".177"
  %".550" = fcmp olt float %".549", 0xc05a000000000000
  %".551" = select  i1 %".550", float 0xc05a000000000000, float %".549"
  %".552" = fcmp ogt float %".551", 0x4056400000000000
  %".553" = select  i1 %".552", float 0x4056400000000000, float %".551"
  %".554" = call float @"llvm.fma.f32"(float %".553", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".555" = fsub float %".554", 0x4168001fc0000000
  %".556" = call float @"llvm.fma.f32"(float %".555", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".557" = call float @"llvm.fma.f32"(float %".555", float 0xbfe6300000000000, float %".553")
  %".558" = call float @"llvm.fma.f32"(float %".555", float 0x3f2bd01060000000, float %".557")
  %".559" = bitcast float %".556" to i32
  %".560" = shl i32 %".559", 23
  %".561" = bitcast float %".554" to i32
  %".562" = bitcast float %".556" to i32
  %".563" = sub i32 %".561", %".562"
  %".564" = shl i32 %".563", 23
  %".565" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".558", float 0x3f8123a020000000)
  %".566" = call float @"llvm.fma.f32"(float %".565", float %".558", float 0x3fa5558f20000000)
  %".567" = call float @"llvm.fma.f32"(float %".566", float %".558", float 0x3fc5554920000000)
  %".568" = call float @"llvm.fma.f32"(float %".567", float %".558", float 0x3fdfffffc0000000)
  %".569" = call float @"llvm.fma.f32"(float %".568", float %".558", float 0x3ff0000000000000)
  %".570" = call float @"llvm.fma.f32"(float %".569", float %".558", float 0x3ff0000000000000)
  %".571" = bitcast i32 %".560" to float
  %".572" = fmul float %".570", %".571"
  %".573" = bitcast i32 %".564" to float
  %".574" = fmul float %".572", %".573"
  %".575" = fdiv float %".574", %".407"
  br i1 %".40", label %"after.2.endif.endif.endif.endif.if.if", label %"after.2.endif.endif.endif.endif.if.endif"
after.2.endif.endif.endif.endif.endif:
  ret void
after.2.endif.endif.endif.endif.if.if:
  %".577" = insertelement <1 x float> <float undef>, float %".575", i32 0
  %".578" = mul nsw i64 %".4", %".42"
  %".579" = add nsw i64 %".548", %".578"
  %".580" = getelementptr float, float addrspace(1)* %".8", i64 %".579"
  %".581" = bitcast float addrspace(1)* %".580" to <1 x float> addrspace(1)*
  store <1 x float> %".577", <1 x float> addrspace(1)* %".581", align 4, !alias.scope !4, !noalias !3
  br label %"after.2.endif.endif.endif.endif.if.endif"
after.2.endif.endif.endif.endif.if.endif:
  br label %"after.2.endif.endif.endif.endif.endif"
}

define internal void @"read"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5") convergent noinline
{
entry:
  %".7" = inttoptr i64 %".2" to float addrspace(1)*
  %".8" = inttoptr i64 %".3" to float addrspace(1)*
  %".45" = alloca float
  %".103" = alloca i64
  %".161" = alloca double
  %".162" = alloca float
  %".367" = alloca i64
  br label %"body"
body:
  %".9" = call i64 @"thread"()
  %".10" = call i64 @"threads"()
  %".11" = icmp sgt i64 %".4", 1
  %".12" = select  i1 %".11", i64 %".4", i64 1
  %".13" = sub i64 %".12", 1
  %".14" = call i64 @"llvm.ctlz.i64"(i64 %".13", i1 0)
  %".15" = sub i64 64, %".14"
  %".16" = icmp sge i64 %".5", 2048
  %".17" = select  i1 %".16", i64 4, i64 4
  %".18" = icmp slt i64 %".15", 5
  %".19" = select  i1 %".18", i64 %".15", i64 5
  %".20" = sub i64 %".17", 1
  %".21" = add i64 %".12", %".20"
  %".22" = udiv i64 %".21", %".17"
  %".23" = sub i64 %".22", 1
  %".24" = call i64 @"llvm.ctlz.i64"(i64 %".23", i1 0)
  %".25" = sub i64 64, %".24"
  %".26" = icmp sgt i64 %".25", %".19"
  %".27" = select  i1 %".26", i64 %".25", i64 %".19"
  %".28" = sub i64 %".10", 1
  %".29" = call i64 @"llvm.ctlz.i64"(i64 %".28", i1 0)
  %".30" = sub i64 64, %".29"
  %".31" = icmp slt i64 %".27", %".30"
  %".32" = select  i1 %".31", i64 %".27", i64 %".30"
  %".33" = shl i64 1, %".32"
  %".34" = sub i64 %".33", 1
  %".35" = and i64 %".9", %".34"
  %".36" = lshr i64 %".10", %".32"
  %".37" = mul i64 %".1", %".36"
  %".38" = lshr i64 %".9", %".32"
  %".39" = add i64 %".37", %".38"
  %".40" = icmp slt i64 %".39", %".5"
  %".41" = sub i64 %".5", 1
  %".42" = select  i1 %".40", i64 %".39", i64 %".41"
  %".43" = icmp eq i64 %".35", 0
  %".44" = and i1 %".40", %".43"
  store float 0xfff0000000000000, float* %".45"
  %".47" = mul i64 %".33", 3
  %".48" = sub i64 %".4", %".47"
  %".49" = mul i64 %".33", 4
  br label %"head"
head:
  %".51" = phi  i64 [%".35", %"body"], [%".88", %"loop"]
  %".52" = icmp slt i64 %".51", %".48"
  br i1 %".52", label %"loop", label %"after"
loop:
  %".54" = mul nsw i64 %".4", %".42"
  %".55" = add nsw i64 %".54", %".51"
  %".56" = getelementptr float, float addrspace(1)* %".7", i64 %".55"
  %".57" = load float, float addrspace(1)* %".56", !alias.scope !3, !noalias !4
  %".58" = load float, float* %".45"
  %".59" = call float @"llvm.maximum.f32"(float %".58", float %".57")
  store float %".59", float* %".45"
  %".61" = mul i64 %".33", 1
  %".62" = add i64 %".51", %".61"
  %".63" = mul nsw i64 %".4", %".42"
  %".64" = add nsw i64 %".63", %".62"
  %".65" = getelementptr float, float addrspace(1)* %".7", i64 %".64"
  %".66" = load float, float addrspace(1)* %".65", !alias.scope !3, !noalias !4
  %".67" = load float, float* %".45"
  %".68" = call float @"llvm.maximum.f32"(float %".67", float %".66")
  store float %".68", float* %".45"
  %".70" = mul i64 %".33", 2
  %".71" = add i64 %".51", %".70"
  %".72" = mul nsw i64 %".4", %".42"
  %".73" = add nsw i64 %".72", %".71"
  %".74" = getelementptr float, float addrspace(1)* %".7", i64 %".73"
  %".75" = load float, float addrspace(1)* %".74", !alias.scope !3, !noalias !4
  %".76" = load float, float* %".45"
  %".77" = call float @"llvm.maximum.f32"(float %".76", float %".75")
  store float %".77", float* %".45"
  %".79" = mul i64 %".33", 3
  %".80" = add i64 %".51", %".79"
  %".81" = mul nsw i64 %".4", %".42"
  %".82" = add nsw i64 %".81", %".80"
  %".83" = getelementptr float, float addrspace(1)* %".7", i64 %".82"
  %".84" = load float, float addrspace(1)* %".83", !alias.scope !3, !noalias !4
  %".85" = load float, float* %".45"
  %".86" = call float @"llvm.maximum.f32"(float %".85", float %".84")
  store float %".86", float* %".45"
  %".88" = add nsw i64 %".51", %".49"
  br label %"head"
after:
  br label %"head.1"
head.1:
  %".91" = phi  i64 [%".51", %"after"], [%".101", %"loop.1"]
  %".92" = icmp slt i64 %".91", %".4"
  br i1 %".92", label %"loop.1", label %"after.1"
loop.1:
  %".94" = mul nsw i64 %".4", %".42"
  %".95" = add nsw i64 %".94", %".91"
  %".96" = getelementptr float, float addrspace(1)* %".7", i64 %".95"
  %".97" = load float, float addrspace(1)* %".96", !alias.scope !3, !noalias !4
  %".98" = load float, float* %".45"
  %".99" = call float @"llvm.maximum.f32"(float %".98", float %".97")
  store float %".99", float* %".45"
  %".101" = add nsw i64 %".91", %".33"
  br label %"head.1"
after.1:
  %".104" = icmp slt i64 %".33", 32
  %".105" = select  i1 %".104", i64 %".33", i64 32
  %".106" = lshr i64 %".105", 1
  store i64 %".106", i64* %".103"
  br label %"head.2"
head.2:
  %".109" = load i64, i64* %".103"
  %".110" = icmp ugt i64 %".109", 0
  br i1 %".110", label %"loop.2", label %"after.2"
loop.2:
  %".112" = load i64, i64* %".103"
  %".113" = load float, float* %".45"
  %".114" = bitcast float %".113" to i32
  %".115" = trunc i64 %".112" to i32
  %".116" = call i32 @"shuffle"(i32 %".114", i32 %".115")
  %".117" = bitcast i32 %".116" to float
  %".118" = load float, float* %".45"
  %".119" = call float @"llvm.maximum.f32"(float %".118", float %".117")
  store float %".119", float* %".45"
  %".121" = lshr i64 %".112", 1
  store i64 %".121", i64* %".103"
  br label %"head.2"
after.2:
  %".124" = icmp ugt i64 %".33", 32
  br i1 %".124", label %"after.2.if", label %"after.2.endif"
after.2.if:
  %".126" = sub i64 %".9", %".35"
  %".127" = lshr i64 %".126", 5
  %".128" = lshr i64 %".33", 5
  %".129" = lshr i64 %".9", 5
  %".130" = and i64 %".9", 31
  %".131" = icmp eq i64 %".130", 0
  %".132" = getelementptr [0 x i8], [0 x i8] addrspace(3)* @"shared", i64 0, i64 0
  %".133" = bitcast i8 addrspace(3)* %".132" to float addrspace(3)*
  br i1 %".131", label %"after.2.if.if", label %"after.2.if.endif"
after.2.endif:
  %".160" = load float, float* %".45"
  store double              0x0, double* %".161"
  %".164" = mul i64 %".33", 1024
  br label %"head.4"
after.2.if.if:
  %".135" = load float, float* %".45"
  %".136" = getelementptr float, float addrspace(3)* %".133", i64 %".129"
  store float %".135", float addrspace(3)* %".136"
  br label %"after.2.if.endif"
after.2.if.endif:
  call void @"barrier"()
  %".140" = mul i64 0, 1
  %".141" = add i64 %".127", %".140"
  %".142" = getelementptr float, float addrspace(3)* %".133", i64 %".141"
  %".143" = load float, float addrspace(3)* %".142"
  store float %".143", float* %".45"
  br label %"head.3"
head.3:
  %".146" = phi  i64 [1, %"after.2.if.endif"], [%".156", %"loop.3"]
  %".147" = icmp slt i64 %".146", %".128"
  br i1 %".147", label %"loop.3", label %"after.3"
loop.3:
  %".149" = mul i64 %".146", 1
  %".150" = add i64 %".127", %".149"
  %".151" = getelementptr float, float addrspace(3)* %".133", i64 %".150"
  %".152" = load float, float addrspace(3)* %".151"
  %".153" = load float, float* %".45"
  %".154" = call float @"llvm.maximum.f32"(float %".153", float %".152")
  store float %".154", float* %".45"
  %".156" = add nsw i64 %".146", 1
  br label %"head.3"
after.3:
  call void @"barrier"()
  br label %"after.2.endif"
head.4:
  %".166" = phi  i64 [0, %"after.2.endif"], [%".365", %"after.6"]
  %".167" = icmp slt i64 %".166", %".4"
  br i1 %".167", label %"loop.4", label %"after.4"
loop.4:
  store float              0x0, float* %".162"
  %".170" = add i64 %".166", %".35"
  %".171" = add i64 %".166", %".164"
  %".172" = icmp slt i64 %".171", %".4"
  %".173" = select  i1 %".172", i64 %".171", i64 %".4"
  %".174" = mul i64 %".33", 3
  %".175" = sub i64 %".173", %".174"
  %".176" = mul i64 %".33", 4
  br label %"head.5"
after.4:
  %".368" = icmp slt i64 %".33", 32
  %".369" = select  i1 %".368", i64 %".33", i64 32
  %".370" = lshr i64 %".369", 1
  store i64 %".370", i64* %".367"
  br label %"head.7"
head.5:
  %".178" = phi  i64 [%".170", %"loop.4"], [%".319", %"loop.5"]
  %".179" = icmp slt i64 %".178", %".175"
  br i1 %".179", label %"loop.5", label %"after.5"
loop.5:
  %".181" = mul nsw i64 %".4", %".42"
  %".182" = add nsw i64 %".181", %".178"
  %".183" = getelementptr float, float addrspace(1)* %".7", i64 %".182"
  %".184" = load float, float addrspace(1)* %".183", !alias.scope !3, !noalias !4
  %".185" = fsub float %".184", %".160"
  %".186" = fcmp olt float %".185", 0xc05a000000000000
  %".187" = select  i1 %".186", float 0xc05a000000000000, float %".185"
  %".188" = fcmp ogt float %".187", 0x4056400000000000
  %".189" = select  i1 %".188", float 0x4056400000000000, float %".187"
  %".190" = call float @"llvm.fma.f32"(float %".189", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".191" = fsub float %".190", 0x4168001fc0000000
  %".192" = call float @"llvm.fma.f32"(float %".191", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".193" = call float @"llvm.fma.f32"(float %".191", float 0xbfe6300000000000, float %".189")
  %".194" = call float @"llvm.fma.f32"(float %".191", float 0x3f2bd01060000000, float %".193")
  %".195" = bitcast float %".192" to i32
  %".196" = shl i32 %".195", 23
  %".197" = bitcast float %".190" to i32
  %".198" = bitcast float %".192" to i32
  %".199" = sub i32 %".197", %".198"
  %".200" = shl i32 %".199", 23
  %".201" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".194", float 0x3f8123a020000000)
  %".202" = call float @"llvm.fma.f32"(float %".201", float %".194", float 0x3fa5558f20000000)
  %".203" = call float @"llvm.fma.f32"(float %".202", float %".194", float 0x3fc5554920000000)
  %".204" = call float @"llvm.fma.f32"(float %".203", float %".194", float 0x3fdfffffc0000000)
  %".205" = call float @"llvm.fma.f32"(float %".204", float %".194", float 0x3ff0000000000000)
  %".206" = call float @"llvm.fma.f32"(float %".205", float %".194", float 0x3ff0000000000000)
  %".207" = bitcast i32 %".196" to float
  %".208" = fmul float %".206", %".207"
  %".209" = bitcast i32 %".200" to float
  %".210" = fmul float %".208", %".209"
  %".211" = load float, float* %".162"
  %".212" = fadd reassoc float %".211", %".210"
  store float %".212", float* %".162"
  %".214" = mul i64 %".33", 1
  %".215" = add i64 %".178", %".214"
  %".216" = mul nsw i64 %".4", %".42"
  %".217" = add nsw i64 %".216", %".215"
  %".218" = getelementptr float, float addrspace(1)* %".7", i64 %".217"
  %".219" = load float, float addrspace(1)* %".218", !alias.scope !3, !noalias !4
  %".220" = fsub float %".219", %".160"
  %".221" = fcmp olt float %".220", 0xc05a000000000000
  %".222" = select  i1 %".221", float 0xc05a000000000000, float %".220"
  %".223" = fcmp ogt float %".222", 0x4056400000000000
  %".224" = select  i1 %".223", float 0x4056400000000000, float %".222"
  %".225" = call float @"llvm.fma.f32"(float %".224", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".226" = fsub float %".225", 0x4168001fc0000000
  %".227" = call float @"llvm.fma.f32"(float %".226", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".228" = call float @"llvm.fma.f32"(float %".226", float 0xbfe6300000000000, float %".224")
  %".229" = call float @"llvm.fma.f32"(float %".226", float 0x3f2bd01060000000, float %".228")
  %".230" = bitcast float %".227" to i32
  %".231" = shl i32 %".230", 23
  %".232" = bitcast float %".225" to i32
  %".233" = bitcast float %".227" to i32
  %".234" = sub i32 %".232", %".233"
  %".235" = shl i32 %".234", 23
  %".236" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".229", float 0x3f8123a020000000)
  %".237" = call float @"llvm.fma.f32"(float %".236", float %".229", float 0x3fa5558f20000000)
  %".238" = call float @"llvm.fma.f32"(float %".237", float %".229", float 0x3fc5554920000000)
  %".239" = call float @"llvm.fma.f32"(float %".238", float %".229", float 0x3fdfffffc0000000)
  %".240" = call float @"llvm.fma.f32"(float %".239", float %".229", float 0x3ff0000000000000)
  %".241" = call float @"llvm.fma.f32"(float %".240", float %".229", float 0x3ff0000000000000)
  %".242" = bitcast i32 %".231" to float
  %".243" = fmul float %".241", %".242"
  %".244" = bitcast i32 %".235" to float
  %".245" = fmul float %".243", %".244"
  %".246" = load float, float* %".162"
  %".247" = fadd reassoc float %".246", %".245"
  store float %".247", float* %".162"
  %".249" = mul i64 %".33", 2
  %".250" = add i64 %".178", %".249"
  %".251" = mul nsw i64 %".4", %".42"
  %".252" = add nsw i64 %".251", %".250"
  %".253" = getelementptr float, float addrspace(1)* %".7", i64 %".252"
  %".254" = load float, float addrspace(1)* %".253", !alias.scope !3, !noalias !4
  %".255" = fsub float %".254", %".160"
  %".256" = fcmp olt float %".255", 0xc05a000000000000
  %".257" = select  i1 %".256", float 0xc05a000000000000, float %".255"
  %".258" = fcmp ogt float %".257", 0x4056400000000000
  %".259" = select  i1 %".258", float 0x4056400000000000, float %".257"
  %".260" = call float @"llvm.fma.f32"(float %".259", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".261" = fsub float %".260", 0x4168001fc0000000
  %".262" = call float @"llvm.fma.f32"(float %".261", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".263" = call float @"llvm.fma.f32"(float %".261", float 0xbfe6300000000000, float %".259")
  %".264" = call float @"llvm.fma.f32"(float %".261", float 0x3f2bd01060000000, float %".263")
  %".265" = bitcast float %".262" to i32
  %".266" = shl i32 %".265", 23
  %".267" = bitcast float %".260" to i32
  %".268" = bitcast float %".262" to i32
  %".269" = sub i32 %".267", %".268"
  %".270" = shl i32 %".269", 23
  %".271" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".264", float 0x3f8123a020000000)
  %".272" = call float @"llvm.fma.f32"(float %".271", float %".264", float 0x3fa5558f20000000)
  %".273" = call float @"llvm.fma.f32"(float %".272", float %".264", float 0x3fc5554920000000)
  %".274" = call float @"llvm.fma.f32"(float %".273", float %".264", float 0x3fdfffffc0000000)
  %".275" = call float @"llvm.fma.f32"(float %".274", float %".264", float 0x3ff0000000000000)
  %".276" = call float @"llvm.fma.f32"(float %".275", float %".264", float 0x3ff0000000000000)
  %".277" = bitcast i32 %".266" to float
  %".278" = fmul float %".276", %".277"
  %".279" = bitcast i32 %".270" to float
  %".280" = fmul float %".278", %".279"
  %".281" = load float, float* %".162"
  %".282" = fadd reassoc float %".281", %".280"
  store float %".282", float* %".162"
  %".284" = mul i64 %".33", 3
  %".285" = add i64 %".178", %".284"
  %".286" = mul nsw i64 %".4", %".42"
  %".287" = add nsw i64 %".286", %".285"
  %".288" = getelementptr float, float addrspace(1)* %".7", i64 %".287"
  %".289" = load float, float addrspace(1)* %".288", !alias.scope !3, !noalias !4
  %".290" = fsub float %".289", %".160"
  %".291" = fcmp olt float %".290", 0xc05a000000000000
  %".292" = select  i1 %".291", float 0xc05a000000000000, float %".290"
  %".293" = fcmp ogt float %".292", 0x4056400000000000
  %".294" = select  i1 %".293", float 0x4056400000000000, float %".292"
  %".295" = call float @"llvm.fma.f32"(float %".294", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".296" = fsub float %".295", 0x4168001fc0000000
  %".297" = call float @"llvm.fma.f32"(float %".296", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".298" = call float @"llvm.fma.f32"(float %".296", float 0xbfe6300000000000, float %".294")
  %".299" = call float @"llvm.fma.f32"(float %".296", float 0x3f2bd01060000000, float %".298")
  %".300" = bitcast float %".297" to i32
  %".301" = shl i32 %".300", 23
  %".302" = bitcast float %".295" to i32
  %".303" = bitcast float %".297" to i32
  %".304" = sub i32 %".302", %".303"
  %".305" = shl i32 %".304", 23
  %".306" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".299", float 0x3f8123a020000000)
  %".307" = call float @"llvm.fma.f32"(float %".306", float %".299", float 0x3fa5558f20000000)
  %".308" = call float @"llvm.fma.f32"(float %".307", float %".299", float 0x3fc5554920000000)
  %".309" = call float @"llvm.fma.f32"(float %".308", float %".299", float 0x3fdfffffc0000000)
  %".310" = call float @"llvm.fma.f32"(float %".309", float %".299", float 0x3ff0000000000000)
  %".311" = call float @"llvm.fma.f32"(float %".310", float %".299", float 0x3ff0000000000000)
  %".312" = bitcast i32 %".301" to float
  %".313" = fmul float %".311", %".312"
  %".314" = bitcast i32 %".305" to float
  %".315" = fmul float %".313", %".314"
  %".316" = load float, float* %".162"
  %".317" = fadd reassoc float %".316", %".315"
  store float %".317", float* %".162"
  %".319" = add nsw i64 %".178", %".176"
  br label %"head.5"
after.5:
  br label %"head.6"
head.6:
  %".322" = phi  i64 [%".178", %"after.5"], [%".358", %"loop.6"]
  %".323" = icmp slt i64 %".322", %".173"
  br i1 %".323", label %"loop.6", label %"after.6"
loop.6:
  %".325" = mul nsw i64 %".4", %".42"
  %".326" = add nsw i64 %".325", %".322"
  %".327" = getelementptr float, float addrspace(1)* %".7", i64 %".326"
  %".328" = load float, float addrspace(1)* %".327", !alias.scope !3, !noalias !4
  %".329" = fsub float %".328", %".160"
  %".330" = fcmp olt float %".329", 0xc05a000000000000
  %".331" = select  i1 %".330", float 0xc05a000000000000, float %".329"
  %".332" = fcmp ogt float %".331", 0x4056400000000000
  %".333" = select  i1 %".332", float 0x4056400000000000, float %".331"
  %".334" = call float @"llvm.fma.f32"(float %".333", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".335" = fsub float %".334", 0x4168001fc0000000
  %".336" = call float @"llvm.fma.f32"(float %".335", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".337" = call float @"llvm.fma.f32"(float %".335", float 0xbfe6300000000000, float %".333")
  %".338" = call float @"llvm.fma.f32"(float %".335", float 0x3f2bd01060000000, float %".337")
  %".339" = bitcast float %".336" to i32
  %".340" = shl i32 %".339", 23
  %".341" = bitcast float %".334" to i32
  %".342" = bitcast float %".336" to i32
  %".343" = sub i32 %".341", %".342"
  %".344" = shl i32 %".343", 23
  %".345" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".338", float 0x3f8123a020000000)
  %".346" = call float @"llvm.fma.f32"(float %".345", float %".338", float 0x3fa5558f20000000)
  %".347" = call float @"llvm.fma.f32"(float %".346", float %".338", float 0x3fc5554920000000)
  %".348" = call float @"llvm.fma.f32"(float %".347", float %".338", float 0x3fdfffffc0000000)
  %".349" = call float @"llvm.fma.f32"(float %".348", float %".338", float 0x3ff0000000000000)
  %".350" = call float @"llvm.fma.f32"(float %".349", float %".338", float 0x3ff0000000000000)
  %".351" = bitcast i32 %".340" to float
  %".352" = fmul float %".350", %".351"
  %".353" = bitcast i32 %".344" to float
  %".354" = fmul float %".352", %".353"
  %".355" = load float, float* %".162"
  %".356" = fadd reassoc float %".355", %".354"
  store float %".356", float* %".162"
  %".358" = add nsw i64 %".322", %".33"
  br label %"head.6"
after.6:
  %".360" = load float, float* %".162"
  %".361" = fpext float %".360" to double
  %".362" = load double, double* %".161"
  %".363" = fadd double %".362", %".361"
  store double %".363", double* %".161"
  %".365" = add nsw i64 %".166", %".164"
  br label %"head.4"
head.7:
  %".373" = load i64, i64* %".367"
  %".374" = icmp ugt i64 %".373", 0
  br i1 %".374", label %"loop.7", label %"after.7"
loop.7:
  %".376" = load i64, i64* %".367"
  %".377" = load double, double* %".161"
  %".378" = bitcast double %".377" to i64
  %".379" = trunc i64 %".378" to i32
  %".380" = trunc i64 %".376" to i32
  %".381" = call i32 @"shuffle"(i32 %".379", i32 %".380")
  %".382" = lshr i64 %".378", 32
  %".383" = trunc i64 %".382" to i32
  %".384" = trunc i64 %".376" to i32
  %".385" = call i32 @"shuffle"(i32 %".383", i32 %".384")
  %".386" = zext i32 %".381" to i64
  %".387" = zext i32 %".385" to i64
  %".388" = shl i64 %".387", 32
  %".389" = or i64 %".386", %".388"
  %".390" = bitcast i64 %".389" to double
  %".391" = load double, double* %".161"
  %".392" = fadd double %".391", %".390"
  store double %".392", double* %".161"
  %".394" = lshr i64 %".376", 1
  store i64 %".394", i64* %".367"
  br label %"head.7"
after.7:
  %".397" = icmp ugt i64 %".33", 32
  br i1 %".397", label %"after.7.if", label %"after.7.endif"
after.7.if:
  %".399" = sub i64 %".9", %".35"
  %".400" = lshr i64 %".399", 5
  %".401" = lshr i64 %".33", 5
  %".402" = lshr i64 %".9", 5
  %".403" = and i64 %".9", 31
  %".404" = icmp eq i64 %".403", 0
  %".405" = getelementptr [0 x i8], [0 x i8] addrspace(3)* @"shared", i64 0, i64 0
  %".406" = bitcast i8 addrspace(3)* %".405" to double addrspace(3)*
  br i1 %".404", label %"after.7.if.if", label %"after.7.if.endif"
after.7.endif:
  %".433" = load double, double* %".161"
  %".434" = fptrunc double %".433" to float
  %".435" = add i64 0, %".35"
  %".436" = mul i64 %".33", 3
  %".437" = sub i64 %".4", %".436"
  %".438" = mul i64 %".33", 4
  br label %"head.9"
after.7.if.if:
  %".408" = load double, double* %".161"
  %".409" = getelementptr double, double addrspace(3)* %".406", i64 %".402"
  store double %".408", double addrspace(3)* %".409"
  br label %"after.7.if.endif"
after.7.if.endif:
  call void @"barrier"()
  %".413" = mul i64 0, 1
  %".414" = add i64 %".400", %".413"
  %".415" = getelementptr double, double addrspace(3)* %".406", i64 %".414"
  %".416" = load double, double addrspace(3)* %".415"
  store double %".416", double* %".161"
  br label %"head.8"
head.8:
  %".419" = phi  i64 [1, %"after.7.if.endif"], [%".429", %"loop.8"]
  %".420" = icmp slt i64 %".419", %".401"
  br i1 %".420", label %"loop.8", label %"after.8"
loop.8:
  %".422" = mul i64 %".419", 1
  %".423" = add i64 %".400", %".422"
  %".424" = getelementptr double, double addrspace(3)* %".406", i64 %".423"
  %".425" = load double, double addrspace(3)* %".424"
  %".426" = load double, double* %".161"
  %".427" = fadd double %".426", %".425"
  store double %".427", double* %".161"
  %".429" = add nsw i64 %".419", 1
  br label %"head.8"
after.8:
  call void @"barrier"()
  br label %"after.7.endif"
head.9:
  %".440" = phi  i64 [%".435", %"after.7.endif"], [%".597", %"loop.9.endif.endif.endif.endif"]
  %".441" = icmp slt i64 %".440", %".437"
  br i1 %".441", label %"loop.9", label %"after.9"
loop.9:
  %".443" = mul nsw i64 %".4", %".42"
  %".444" = add nsw i64 %".440", %".443"
  %".445" = getelementptr float, float addrspace(1)* %".7", i64 %".444"
  %".446" = load float, float addrspace(1)* %".445", !alias.scope !3, !noalias !4
  %".447" = fsub float %".446", %".160"
  %".448" = fcmp olt float %".447", 0xc05a000000000000
  %".449" = select  i1 %".448", float 0xc05a000000000000, float %".447"
  %".450" = fcmp ogt float %".449", 0x4056400000000000
  %".451" = select  i1 %".450", float 0x4056400000000000, float %".449"
  %".452" = call float @"llvm.fma.f32"(float %".451", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".453" = fsub float %".452", 0x4168001fc0000000
  %".454" = call float @"llvm.fma.f32"(float %".453", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".455" = call float @"llvm.fma.f32"(float %".453", float 0xbfe6300000000000, float %".451")
  %".456" = call float @"llvm.fma.f32"(float %".453", float 0x3f2bd01060000000, float %".455")
  %".457" = bitcast float %".454" to i32
  %".458" = shl i32 %".457", 23
  %".459" = bitcast float %".452" to i32
  %".460" = bitcast float %".454" to i32
  %".461" = sub i32 %".459", %".460"
  %".462" = shl i32 %".461", 23
  %".463" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".456", float 0x3f8123a020000000)
  %".464" = call float @"llvm.fma.f32"(float %".463", float %".456", float 0x3fa5558f20000000)
  %".465" = call float @"llvm.fma.f32"(float %".464", float %".456", float 0x3fc5554920000000)
  %".466" = call float @"llvm.fma.f32"(float %".465", float %".456", float 0x3fdfffffc0000000)
  %".467" = call float @"llvm.fma.f32"(float %".466", float %".456", float 0x3ff0000000000000)
  %".468" = call float @"llvm.fma.f32"(float %".467", float %".456", float 0x3ff0000000000000)
  %".469" = bitcast i32 %".458" to float
  %".470" = fmul float %".468", %".469"
  %".471" = bitcast i32 %".462" to float
  %".472" = fmul float %".470", %".471"
  %".473" = fdiv float %".472", %".434"
  br i1 %".40", label %"loop.9.if", label %"loop.9.endif"
after.9:
  br label %"head.10"
loop.9.if:
  %".475" = mul nsw i64 %".4", %".42"
  %".476" = add nsw i64 %".440", %".475"
  %".477" = getelementptr float, float addrspace(1)* %".8", i64 %".476"
  store float %".473", float addrspace(1)* %".477", !alias.scope !4, !noalias !3
  br label %"loop.9.endif"
loop.9.endif:
  %".480" = mul i64 %".33", 1
  %".481" = add i64 %".440", %".480"
  %".482" = mul nsw i64 %".4", %".42"
  %".483" = add nsw i64 %".481", %".482"
  %".484" = getelementptr float, float addrspace(1)* %".7", i64 %".483"
  %".485" = load float, float addrspace(1)* %".484", !alias.scope !3, !noalias !4
  %".486" = fsub float %".485", %".160"
  %".487" = fcmp olt float %".486", 0xc05a000000000000
  %".488" = select  i1 %".487", float 0xc05a000000000000, float %".486"
  %".489" = fcmp ogt float %".488", 0x4056400000000000
  %".490" = select  i1 %".489", float 0x4056400000000000, float %".488"
  %".491" = call float @"llvm.fma.f32"(float %".490", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".492" = fsub float %".491", 0x4168001fc0000000
  %".493" = call float @"llvm.fma.f32"(float %".492", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".494" = call float @"llvm.fma.f32"(float %".492", float 0xbfe6300000000000, float %".490")
  %".495" = call float @"llvm.fma.f32"(float %".492", float 0x3f2bd01060000000, float %".494")
  %".496" = bitcast float %".493" to i32
  %".497" = shl i32 %".496", 23
  %".498" = bitcast float %".491" to i32
  %".499" = bitcast float %".493" to i32
  %".500" = sub i32 %".498", %".499"
  %".501" = shl i32 %".500", 23
  %".502" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".495", float 0x3f8123a020000000)
  %".503" = call float @"llvm.fma.f32"(float %".502", float %".495", float 0x3fa5558f20000000)
  %".504" = call float @"llvm.fma.f32"(float %".503", float %".495", float 0x3fc5554920000000)
  %".505" = call float @"llvm.fma.f32"(float %".504", float %".495", float 0x3fdfffffc0000000)
  %".506" = call float @"llvm.fma.f32"(float %".505", float %".495", float 0x3ff0000000000000)
  %".507" = call float @"llvm.fma.f32"(float %".506", float %".495", float 0x3ff0000000000000)
  %".508" = bitcast i32 %".497" to float
  %".509" = fmul float %".507", %".508"
  %".510" = bitcast i32 %".501" to float
  %".511" = fmul float %".509", %".510"
  %".512" = fdiv float %".511", %".434"
  br i1 %".40", label %"loop.9.endif.if", label %"loop.9.endif.endif"
loop.9.endif.if:
  %".514" = mul nsw i64 %".4", %".42"
  %".515" = add nsw i64 %".481", %".514"
  %".516" = getelementptr float, float addrspace(1)* %".8", i64 %".515"
  store float %".512", float addrspace(1)* %".516", !alias.scope !4, !noalias !3
  br label %"loop.9.endif.endif"
loop.9.endif.endif:
  %".519" = mul i64 %".33", 2
  %".520" = add i64 %".440", %".519"
  %".521" = mul nsw i64 %".4", %".42"
  %".522" = add nsw i64 %".520", %".521"
  %".523" = getelementptr float, float addrspace(1)* %".7", i64 %".522"
  %".524" = load float, float addrspace(1)* %".523", !alias.scope !3, !noalias !4
  %".525" = fsub float %".524", %".160"
  %".526" = fcmp olt float %".525", 0xc05a000000000000
  %".527" = select  i1 %".526", float 0xc05a000000000000, float %".525"
  %".528" = fcmp ogt float %".527", 0x4056400000000000
  %".529" = select  i1 %".528", float 0x4056400000000000, float %".527"
  %".530" = call float @"llvm.fma.f32"(float %".529", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".531" = fsub float %".530", 0x4168001fc0000000
  %".532" = call float @"llvm.fma.f32"(float %".531", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".533" = call float @"llvm.fma.f32"(float %".531", float 0xbfe6300000000000, float %".529")
  %".534" = call float @"llvm.fma.f32"(float %".531", float 0x3f2bd01060000000, float %".533")
  %".535" = bitcast float %".532" to i32
  %".536" = shl i32 %".535", 23
  %".537" = bitcast float %".530" to i32
  %".538" = bitcast float %".532" to i32
  %".539" = sub i32 %".537", %".538"
  %".540" = shl i32 %".539", 23
  %".541" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".534", float 0x3f8123a020000000)
  %".542" = call float @"llvm.fma.f32"(float %".541", float %".534", float 0x3fa5558f20000000)
  %".543" = call float @"llvm.fma.f32"(float %".542", float %".534", float 0x3fc5554920000000)
  %".544" = call float @"llvm.fma.f32"(float %".543", float %".534", float 0x3fdfffffc0000000)
  %".545" = call float @"llvm.fma.f32"(float %".544", float %".534", float 0x3ff0000000000000)
  %".546" = call float @"llvm.fma.f32"(float %".545", float %".534", float 0x3ff0000000000000)
  %".547" = bitcast i32 %".536" to float
  %".548" = fmul float %".546", %".547"
  %".549" = bitcast i32 %".540" to float
  %".550" = fmul float %".548", %".549"
  %".551" = fdiv float %".550", %".434"
  br i1 %".40", label %"loop.9.endif.endif.if", label %"loop.9.endif.endif.endif"
loop.9.endif.endif.if:
  %".553" = mul nsw i64 %".4", %".42"
  %".554" = add nsw i64 %".520", %".553"
  %".555" = getelementptr float, float addrspace(1)* %".8", i64 %".554"
  store float %".551", float addrspace(1)* %".555", !alias.scope !4, !noalias !3
  br label %"loop.9.endif.endif.endif"
loop.9.endif.endif.endif:
  %".558" = mul i64 %".33", 3
  %".559" = add i64 %".440", %".558"
  %".560" = mul nsw i64 %".4", %".42"
  %".561" = add nsw i64 %".559", %".560"
  %".562" = getelementptr float, float addrspace(1)* %".7", i64 %".561"
  %".563" = load float, float addrspace(1)* %".562", !alias.scope !3, !noalias !4
  %".564" = fsub float %".563", %".160"
  %".565" = fcmp olt float %".564", 0xc05a000000000000
  %".566" = select  i1 %".565", float 0xc05a000000000000, float %".564"
  %".567" = fcmp ogt float %".566", 0x4056400000000000
  %".568" = select  i1 %".567", float 0x4056400000000000, float %".566"
  %".569" = call float @"llvm.fma.f32"(float %".568", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".570" = fsub float %".569", 0x4168001fc0000000
  %".571" = call float @"llvm.fma.f32"(float %".570", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".572" = call float @"llvm.fma.f32"(float %".570", float 0xbfe6300000000000, float %".568")
  %".573" = call float @"llvm.fma.f32"(float %".570", float 0x3f2bd01060000000, float %".572")
  %".574" = bitcast float %".571" to i32
  %".575" = shl i32 %".574", 23
  %".576" = bitcast float %".569" to i32
  %".577" = bitcast float %".571" to i32
  %".578" = sub i32 %".576", %".577"
  %".579" = shl i32 %".578", 23
  %".580" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".573", float 0x3f8123a020000000)
  %".581" = call float @"llvm.fma.f32"(float %".580", float %".573", float 0x3fa5558f20000000)
  %".582" = call float @"llvm.fma.f32"(float %".581", float %".573", float 0x3fc5554920000000)
  %".583" = call float @"llvm.fma.f32"(float %".582", float %".573", float 0x3fdfffffc0000000)
  %".584" = call float @"llvm.fma.f32"(float %".583", float %".573", float 0x3ff0000000000000)
  %".585" = call float @"llvm.fma.f32"(float %".584", float %".573", float 0x3ff0000000000000)
  %".586" = bitcast i32 %".575" to float
  %".587" = fmul float %".585", %".586"
  %".588" = bitcast i32 %".579" to float
  %".589" = fmul float %".587", %".588"
  %".590" = fdiv float %".589", %".434"
  br i1 %".40", label %"loop.9.endif.endif.endif.if", label %"loop.9.endif.endif.endif.endif"
loop.9.endif.endif.endif.if:
  %".592" = mul nsw i64 %".4", %".42"
  %".593" = add nsw i64 %".559", %".592"
  %".594" = getelementptr float, float addrspace(1)* %".8", i64 %".593"
  store float %".590", float addrspace(1)* %".594", !alias.scope !4, !noalias !3
  br label %"loop.9.endif.endif.endif.endif"
loop.9.endif.endif.endif.endif:
  %".597" = add nsw i64 %".440", %".438"
  br label %"head.9"
head.10:
  %".600" = phi  i64 [%".440", %"after.9"], [%".640", %"loop.10.endif"]
  %".601" = icmp slt i64 %".600", %".4"
  br i1 %".601", label %"loop.10", label %"after.10"
loop.10:
  %".603" = mul nsw i64 %".4", %".42"
  %".604" = add nsw i64 %".600", %".603"
  %".605" = getelementptr float, float addrspace(1)* %".7", i64 %".604"
  %".606" = load float, float addrspace(1)* %".605", !alias.scope !3, !noalias !4
  %".607" = fsub float %".606", %".160"
  %".608" = fcmp olt float %".607", 0xc05a000000000000
  %".609" = select  i1 %".608", float 0xc05a000000000000, float %".607"
  %".610" = fcmp ogt float %".609", 0x4056400000000000
  %".611" = select  i1 %".610", float 0x4056400000000000, float %".609"
  %".612" = call float @"llvm.fma.f32"(float %".611", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".613" = fsub float %".612", 0x4168001fc0000000
  %".614" = call float @"llvm.fma.f32"(float %".613", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".615" = call float @"llvm.fma.f32"(float %".613", float 0xbfe6300000000000, float %".611")
  %".616" = call float @"llvm.fma.f32"(float %".613", float 0x3f2bd01060000000, float %".615")
  %".617" = bitcast float %".614" to i32
  %".618" = shl i32 %".617", 23
  %".619" = bitcast float %".612" to i32
  %".620" = bitcast float %".614" to i32
  %".621" = sub i32 %".619", %".620"
  %".622" = shl i32 %".621", 23
  %".623" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".616", float 0x3f8123a020000000)
  %".624" = call float @"llvm.fma.f32"(float %".623", float %".616", float 0x3fa5558f20000000)
  %".625" = call float @"llvm.fma.f32"(float %".624", float %".616", float 0x3fc5554920000000)
  %".626" = call float @"llvm.fma.f32"(float %".625", float %".616", float 0x3fdfffffc0000000)
  %".627" = call float @"llvm.fma.f32"(float %".626", float %".616", float 0x3ff0000000000000)
  %".628" = call float @"llvm.fma.f32"(float %".627", float %".616", float 0x3ff0000000000000)
  %".629" = bitcast i32 %".618" to float
  %".630" = fmul float %".628", %".629"
  %".631" = bitcast i32 %".622" to float
  %".632" = fmul float %".630", %".631"
  %".633" = fdiv float %".632", %".434"
  br i1 %".40", label %"loop.10.if", label %"loop.10.endif"
after.10:
  ret void
loop.10.if:
  %".635" = mul nsw i64 %".4", %".42"
  %".636" = add nsw i64 %".600", %".635"
  %".637" = getelementptr float, float addrspace(1)* %".8", i64 %".636"
  store float %".633", float addrspace(1)* %".637", !alias.scope !4, !noalias !3
  br label %"loop.10.endif"
loop.10.endif:
  %".640" = add nsw i64 %".600", %".33"
  br label %"head.10"
}

define i64 @"blocks"(i64 %".1", i64 %".2", i64 %".3", i64 %".4")
{
entry:
  %".6" = call i64 @"threads"()
  %".7" = icmp sgt i64 %".3", 1
  %".8" = select  i1 %".7", i64 %".3", i64 1
  %".9" = sub i64 %".8", 1
  %".10" = call i64 @"llvm.ctlz.i64"(i64 %".9", i1 0)
  %".11" = sub i64 64, %".10"
  %".12" = icmp sge i64 %".4", 2048
  %".13" = select  i1 %".12", i64 4, i64 4
  %".14" = icmp slt i64 %".11", 5
  %".15" = select  i1 %".14", i64 %".11", i64 5
  %".16" = sub i64 %".13", 1
  %".17" = add i64 %".8", %".16"
  %".18" = udiv i64 %".17", %".13"
  %".19" = sub i64 %".18", 1
  %".20" = call i64 @"llvm.ctlz.i64"(i64 %".19", i1 0)
  %".21" = sub i64 64, %".20"
  %".22" = icmp sgt i64 %".21", %".15"
  %".23" = select  i1 %".22", i64 %".21", i64 %".15"
  %".24" = sub i64 %".6", 1
  %".25" = call i64 @"llvm.ctlz.i64"(i64 %".24", i1 0)
  %".26" = sub i64 64, %".25"
  %".27" = icmp slt i64 %".23", %".26"
  %".28" = select  i1 %".27", i64 %".23", i64 %".26"
  %".29" = lshr i64 %".6", %".28"
  %".30" = sub i64 %".29", 1
  %".31" = add i64 %".4", %".30"
  %".32" = udiv i64 %".31", %".29"
  ret i64 %".32"
}

declare i64 @"llvm.ctlz.i64"(i64 %".1", i1 %".2")

declare float @"llvm.maximum.f32"(float %".1", float %".2")

declare float @"llvm.fma.f32"(float %".1", float %".2", float %".3")

!0 = !{ !"mindlite" }
!1 = !{ !"argument 0", !0 }
!2 = !{ !"argument 1", !0 }
!3 = !{ !1 }
!4 = !{ !2 }