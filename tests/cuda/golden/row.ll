; shared 2048
; ModuleID = "kernel"
target triple = "unknown-unknown-unknown"
target datalayout = ""

define void @"part"(i64 %".1", i64 %".2", i64 %".3", i64 %".4", i64 %".5")
{
entry:
  %".7" = inttoptr i64 %".2" to float addrspace(1)*
  %".8" = inttoptr i64 %".3" to float addrspace(1)*
  %".33" = alloca float
  %".48" = alloca i64
  %".106" = alloca double
  %".107" = alloca float
  %".171" = alloca i64
  br label %"body"
body:
  %".9" = call i64 @"thread"()
  %".10" = call i64 @"threads"()
  %".11" = icmp sgt i64 %".4", 1
  %".12" = select  i1 %".11", i64 %".4", i64 1
  %".13" = sub i64 %".12", 1
  %".14" = call i64 @"llvm.ctlz.i64"(i64 %".13", i1 0)
  %".15" = sub i64 64, %".14"
  %".16" = sub i64 %".10", 1
  %".17" = call i64 @"llvm.ctlz.i64"(i64 %".16", i1 0)
  %".18" = sub i64 64, %".17"
  %".19" = icmp slt i64 %".15", %".18"
  %".20" = select  i1 %".19", i64 %".15", i64 %".18"
  %".21" = shl i64 1, %".20"
  %".22" = sub i64 %".21", 1
  %".23" = and i64 %".9", %".22"
  %".24" = lshr i64 %".10", %".20"
  %".25" = mul i64 %".1", %".24"
  %".26" = lshr i64 %".9", %".20"
  %".27" = add i64 %".25", %".26"
  %".28" = icmp slt i64 %".27", %".5"
  %".29" = sub i64 %".5", 1
  %".30" = select  i1 %".28", i64 %".27", i64 %".29"
  %".31" = icmp eq i64 %".23", 0
  %".32" = and i1 %".28", %".31"
  store float 0xfff0000000000000, float* %".33"
  br label %"head"
head:
  %".36" = phi  i64 [%".23", %"body"], [%".46", %"loop"]
  %".37" = icmp slt i64 %".36", %".4"
  br i1 %".37", label %"loop", label %"after"
loop:
  %".39" = mul nsw i64 %".4", %".30"
  %".40" = add nsw i64 %".39", %".36"
  %".41" = getelementptr float, float addrspace(1)* %".7", i64 %".40"
  %".42" = load float, float addrspace(1)* %".41", !alias.scope !3, !noalias !4
  %".43" = load float, float* %".33"
  %".44" = call float @"llvm.maximum.f32"(float %".43", float %".42")
  store float %".44", float* %".33"
  %".46" = add nsw i64 %".36", %".21"
  br label %"head"
after:
  %".49" = icmp slt i64 %".21", 32
  %".50" = select  i1 %".49", i64 %".21", i64 32
  %".51" = lshr i64 %".50", 1
  store i64 %".51", i64* %".48"
  br label %"head.1"
head.1:
  %".54" = load i64, i64* %".48"
  %".55" = icmp ugt i64 %".54", 0
  br i1 %".55", label %"loop.1", label %"after.1"
loop.1:
  %".57" = load i64, i64* %".48"
  %".58" = load float, float* %".33"
  %".59" = bitcast float %".58" to i32
  %".60" = trunc i64 %".57" to i32
  %".61" = call i32 @"shuffle"(i32 %".59", i32 %".60")
  %".62" = bitcast i32 %".61" to float
  %".63" = load float, float* %".33"
  %".64" = call float @"llvm.maximum.f32"(float %".63", float %".62")
  store float %".64", float* %".33"
  %".66" = lshr i64 %".57", 1
  store i64 %".66", i64* %".48"
  br label %"head.1"
after.1:
  %".69" = icmp ugt i64 %".21", 32
  br i1 %".69", label %"after.1.if", label %"after.1.endif"
after.1.if:
  %".71" = sub i64 %".9", %".23"
  %".72" = lshr i64 %".71", 5
  %".73" = lshr i64 %".21", 5
  %".74" = lshr i64 %".9", 5
  %".75" = and i64 %".9", 31
  %".76" = icmp eq i64 %".75", 0
  %".77" = getelementptr [0 x i8], [0 x i8] addrspace(3)* @"shared", i64 0, i64 0
  %".78" = bitcast i8 addrspace(3)* %".77" to float addrspace(3)*
  br i1 %".76", label %"after.1.if.if", label %"after.1.if.endif"
after.1.endif:
  %".105" = load float, float* %".33"
  store double              0x0, double* %".106"
  %".109" = mul i64 %".21", 1024
  br label %"head.3"
after.1.if.if:
  %".80" = load float, float* %".33"
  %".81" = getelementptr float, float addrspace(3)* %".78", i64 %".74"
  store float %".80", float addrspace(3)* %".81"
  br label %"after.1.if.endif"
after.1.if.endif:
  call void @"barrier"()
  %".85" = mul i64 0, 1
  %".86" = add i64 %".72", %".85"
  %".87" = getelementptr float, float addrspace(3)* %".78", i64 %".86"
  %".88" = load float, float addrspace(3)* %".87"
  store float %".88", float* %".33"
  br label %"head.2"
head.2:
  %".91" = phi  i64 [1, %"after.1.if.endif"], [%".101", %"loop.2"]
  %".92" = icmp slt i64 %".91", %".73"
  br i1 %".92", label %"loop.2", label %"after.2"
loop.2:
  %".94" = mul i64 %".91", 1
  %".95" = add i64 %".72", %".94"
  %".96" = getelementptr float, float addrspace(3)* %".78", i64 %".95"
  %".97" = load float, float addrspace(3)* %".96"
  %".98" = load float, float* %".33"
  %".99" = call float @"llvm.maximum.f32"(float %".98", float %".97")
  store float %".99", float* %".33"
  %".101" = add nsw i64 %".91", 1
  br label %"head.2"
after.2:
  call void @"barrier"()
  br label %"after.1.endif"
head.3:
  %".111" = phi  i64 [0, %"after.1.endif"], [%".169", %"after.4"]
  %".112" = icmp slt i64 %".111", %".4"
  br i1 %".112", label %"loop.3", label %"after.3"
loop.3:
  store float              0x0, float* %".107"
  %".115" = add i64 %".111", %".23"
  %".116" = add i64 %".111", %".109"
  %".117" = icmp slt i64 %".116", %".4"
  %".118" = select  i1 %".117", i64 %".116", i64 %".4"
  br label %"head.4"
after.3:
  %".172" = icmp slt i64 %".21", 32
  %".173" = select  i1 %".172", i64 %".21", i64 32
  %".174" = lshr i64 %".173", 1
  store i64 %".174", i64* %".171"
  br label %"head.5"
head.4:
  %".120" = phi  i64 [%".115", %"loop.3"], [%".162", %"loop.4.endif"]
  %".121" = icmp slt i64 %".120", %".118"
  br i1 %".121", label %"loop.4", label %"after.4"
loop.4:
  %".123" = mul nsw i64 %".4", %".30"
  %".124" = add nsw i64 %".123", %".120"
  %".125" = getelementptr float, float addrspace(1)* %".7", i64 %".124"
  %".126" = load float, float addrspace(1)* %".125", !alias.scope !3, !noalias !4
  %".127" = fsub float %".126", %".105"
  %".128" = fcmp olt float %".127", 0xc05a000000000000
  %".129" = select  i1 %".128", float 0xc05a000000000000, float %".127"
  %".130" = fcmp ogt float %".129", 0x4056400000000000
  %".131" = select  i1 %".130", float 0x4056400000000000, float %".129"
  %".132" = call float @"llvm.fma.f32"(float %".131", float 0x3ff7154760000000, float 0x4168001fc0000000)
  %".133" = fsub float %".132", 0x4168001fc0000000
  %".134" = call float @"llvm.fma.f32"(float %".133", float 0x3fe0000000000000, float 0x4168000fe0000000)
  %".135" = call float @"llvm.fma.f32"(float %".133", float 0xbfe6300000000000, float %".131")
  %".136" = call float @"llvm.fma.f32"(float %".133", float 0x3f2bd01060000000, float %".135")
  %".137" = bitcast float %".134" to i32
  %".138" = shl i32 %".137", 23
  %".139" = bitcast float %".132" to i32
  %".140" = bitcast float %".134" to i32
  %".141" = sub i32 %".139", %".140"
  %".142" = shl i32 %".141", 23
  %".143" = call float @"llvm.fma.f32"(float 0x3f56a24000000000, float %".136", float 0x3f8123a020000000)
  %".144" = call float @"llvm.fma.f32"(float %".143", float %".136", float 0x3fa5558f20000000)
  %".145" = call float @"llvm.fma.f32"(float %".144", float %".136", float 0x3fc5554920000000)
  %".146" = call float @"llvm.fma.f32"(float %".145", float %".136", float 0x3fdfffffc0000000)
  %".147" = call float @"llvm.fma.f32"(float %".146", float %".136", float 0x3ff0000000000000)
  %".148" = call float @"llvm.fma.f32"(float %".147", float %".136", float 0x3ff0000000000000)
  %".149" = bitcast i32 %".138" to float
  %".150" = fmul float %".148", %".149"
  %".151" = bitcast i32 %".142" to float
  %".152" = fmul float %".150", %".151"
  br i1 %".28", label %"loop.4.if", label %"loop.4.endif"
after.4:
  %".164" = load float, float* %".107"
  %".165" = fpext float %".164" to double
  %".166" = load double, double* %".106"
  %".167" = fadd double %".166", %".165"
  store double %".167", double* %".106"
  %".169" = add nsw i64 %".111", %".109"
  br label %"head.3"
loop.4.if:
  %".154" = mul nsw i64 %".4", %".30"
  %".155" = add nsw i64 %".154", %".120"
  %".156" = getelementptr float, float addrspace(1)* %".8", i64 %".155"
  store float %".152", float addrspace(1)* %".156", !alias.scope !4, !noalias !3
  br label %"loop.4.endif"
loop.4.endif:
  %".159" = load float, float* %".107"
  %".160" = fadd reassoc float %".159", %".152"
  store float %".160", float* %".107"
  %".162" = add nsw i64 %".120", %".21"
  br label %"head.4"
head.5:
  %".177" = load i64, i64* %".171"
  %".178" = icmp ugt i64 %".177", 0
  br i1 %".178", label %"loop.5", label %"after.5"
loop.5:
  %".180" = load i64, i64* %".171"
  %".181" = load double, double* %".106"
  %".182" = bitcast double %".181" to i64
  %".183" = trunc i64 %".182" to i32
  %".184" = trunc i64 %".180" to i32
  %".185" = call i32 @"shuffle"(i32 %".183", i32 %".184")
  %".186" = lshr i64 %".182", 32
  %".187" = trunc i64 %".186" to i32
  %".188" = trunc i64 %".180" to i32
  %".189" = call i32 @"shuffle"(i32 %".187", i32 %".188")
  %".190" = zext i32 %".185" to i64
  %".191" = zext i32 %".189" to i64
  %".192" = shl i64 %".191", 32
  %".193" = or i64 %".190", %".192"
  %".194" = bitcast i64 %".193" to double
  %".195" = load double, double* %".106"
  %".196" = fadd double %".195", %".194"
  store double %".196", double* %".106"
  %".198" = lshr i64 %".180", 1
  store i64 %".198", i64* %".171"
  br label %"head.5"
after.5:
  %".201" = icmp ugt i64 %".21", 32
  br i1 %".201", label %"after.5.if", label %"after.5.endif"
after.5.if:
  %".203" = sub i64 %".9", %".23"
  %".204" = lshr i64 %".203", 5
  %".205" = lshr i64 %".21", 5
  %".206" = lshr i64 %".9", 5
  %".207" = and i64 %".9", 31
  %".208" = icmp eq i64 %".207", 0
  %".209" = getelementptr [0 x i8], [0 x i8] addrspace(3)* @"shared", i64 0, i64 0
  %".210" = bitcast i8 addrspace(3)* %".209" to double addrspace(3)*
  br i1 %".208", label %"after.5.if.if", label %"after.5.if.endif"
after.5.endif:
  %".237" = load double, double* %".106"
  %".238" = fptrunc double %".237" to float
  %".239" = icmp ugt i64 %".21", 32
  br i1 %".239", label %"after.5.endif.if", label %"after.5.endif.else"
after.5.if.if:
  %".212" = load double, double* %".106"
  %".213" = getelementptr double, double addrspace(3)* %".210", i64 %".206"
  store double %".212", double addrspace(3)* %".213"
  br label %"after.5.if.endif"
after.5.if.endif:
  call void @"barrier"()
  %".217" = mul i64 0, 1
  %".218" = add i64 %".204", %".217"
  %".219" = getelementptr double, double addrspace(3)* %".210", i64 %".218"
  %".220" = load double, double addrspace(3)* %".219"
  store double %".220", double* %".106"
  br label %"head.6"
head.6:
  %".223" = phi  i64 [1, %"after.5.if.endif"], [%".233", %"loop.6"]
  %".224" = icmp slt i64 %".223", %".205"
  br i1 %".224", label %"loop.6", label %"after.6"
loop.6:
  %".226" = mul i64 %".223", 1
  %".227" = add i64 %".204", %".226"
  %".228" = getelementptr double, double addrspace(3)* %".210", i64 %".227"
  %".229" = load double, double addrspace(3)* %".228"
  %".230" = load double, double* %".106"
  %".231" = fadd double %".230", %".229"
  store double %".231", double* %".106"
  %".233" = add nsw i64 %".223", 1
  br label %"head.6"
after.6:
  call void @"barrier"()
  br label %"after.5.endif"
after.5.endif.if:
  call void @"barrier"()
  br label %"after.5.endif.endif"
after.5.endif.else:
  call void @"warp_barrier"()
  br label %"after.5.endif.endif"
after.5.endif.endif:
  %".245" = add i64 0, %".23"
  br label %"head.7"
head.7:
  %".247" = phi  i64 [%".245", %"after.5.endif.endif"], [%".261", %"loop.7.endif"]
  %".248" = icmp slt i64 %".247", %".4"
  br i1 %".248", label %"loop.7", label %"after.7"
loop.7:
  %".250" = mul nsw i64 %".4", %".30"
  %".251" = add nsw i64 %".247", %".250"
  %".252" = getelementptr float, float addrspace(1)* %".8", i64 %".251"
  %".253" = load float, float addrspace(1)* %".252", !alias.scope !4, !noalias !3
  %".254" = fdiv float %".253", %".238"
  br i1 %".28", label %"loop.7.if", label %"loop.7.endif"
after.7:
  ret void
loop.7.if:
  %".256" = mul nsw i64 %".4", %".30"
  %".257" = add nsw i64 %".247", %".256"
  %".258" = getelementptr float, float addrspace(1)* %".8", i64 %".257"
  store float %".254", float addrspace(1)* %".258", !alias.scope !4, !noalias !3
  br label %"loop.7.endif"
loop.7.endif:
  %".261" = add nsw i64 %".247", %".21"
  br label %"head.7"
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
  %".12" = sub i64 %".6", 1
  %".13" = call i64 @"llvm.ctlz.i64"(i64 %".12", i1 0)
  %".14" = sub i64 64, %".13"
  %".15" = icmp slt i64 %".11", %".14"
  %".16" = select  i1 %".15", i64 %".11", i64 %".14"
  %".17" = lshr i64 %".6", %".16"
  %".18" = sub i64 %".17", 1
  %".19" = add i64 %".4", %".18"
  %".20" = udiv i64 %".19", %".17"
  ret i64 %".20"
}

declare i64 @"llvm.ctlz.i64"(i64 %".1", i1 %".2")

declare float @"llvm.maximum.f32"(float %".1", float %".2")

declare float @"llvm.fma.f32"(float %".1", float %".2", float %".3")

!0 = !{ !"mindlite" }
!1 = !{ !"argument 0", !0 }
!2 = !{ !"argument 1", !0 }
!3 = !{ !1 }
!4 = !{ !2 }